#include "core/base/enum_names.h"

#include <gtest/gtest.h>

namespace bellwether {
namespace {

enum class Shape : unsigned char { kRound, kFourSided, kUtf8 };
constexpr EnumNames<Shape> kShapes("round", "four-sided", "eight");

TEST(EnumNames, counts_the_enumerators) { EXPECT_EQ(EnumNames<Shape>::kSize, 3U); }

TEST(EnumNames, goes_from_value_to_name_and_back) {
  EXPECT_STREQ(kShapes[Shape::kFourSided], "four-sided");
  EXPECT_EQ(kShapes.find("eight"), Shape::kUtf8);
  EXPECT_EQ(kShapes.find("square"), std::nullopt);
}

TEST(EnumNames, has_a_word_for_a_number_that_is_no_value) { EXPECT_STREQ(kShapes[static_cast<Shape>(3)], "unknown"); }

}  // namespace
}  // namespace bellwether
