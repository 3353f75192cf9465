#include <gtest/gtest.h>

#include "core/base/encoding.h"

namespace bellwether {
namespace {

TEST(Percent, digits_of_either_case_stand_for_a_byte) {
  EXPECT_EQ(percent_decoded("a%20b%2F%2f%00"), std::string("a b//\0", 6));
  EXPECT_EQ(percent_decoded("%C3%A9+"), "\xc3\xa9+");
  EXPECT_EQ(percent_decoded(""), "");
}

TEST(Percent, what_is_cut_off_or_no_digit_is_refused) {
  for (const char* wrong : {"%", "%2", "a%2", "%zz", "%2g", "%g2", "%%20"}) {
    EXPECT_EQ(percent_decoded(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace bellwether
