#include "core/http1/error_kind.h"

#include <gtest/gtest.h>
#include <set>

namespace bellwether::http1 {
namespace {

TEST(ErrorKind, every_kind_has_a_name_of_its_own_and_a_description) {
  std::set<std::string_view> names;
  for (int i = 0; i < kErrorKinds; ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    EXPECT_TRUE(names.insert(to_string(kind)).second) << to_string(kind);
    EXPECT_EQ(to_string(kind).find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos);
    EXPECT_FALSE(describe(kind).empty());
  }
}

TEST(ErrorKind, names_stand_beside_their_kinds) {
  EXPECT_EQ(to_string(ErrorKind::kNone), "none");
  EXPECT_EQ(to_string(ErrorKind::kExhausted), "exhausted");
  EXPECT_EQ(to_string(ErrorKind::kFirstByteTimeout), "first_byte_timeout");
  EXPECT_EQ(to_string(ErrorKind::kInterrupted), "interrupted");
  EXPECT_EQ(static_cast<int>(ErrorKind::kToken), kErrorKinds - 1);
}

}  // namespace
}  // namespace bellwether::http1
