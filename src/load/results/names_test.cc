#include <gtest/gtest.h>

#include "load/results/store.h"

namespace bellwether::results {
namespace {

const std::vector<std::string_view> kIds{"ab12ff", "ab34ff", "cd56ff"};

TEST(Names, a_run_is_named_by_its_id_its_beginning_or_its_age) {
  EXPECT_EQ(pick("ab34ff", kIds).value(), 1U);
  EXPECT_EQ(pick("c", kIds).value(), 2U);
  EXPECT_EQ(pick("last", kIds).value(), 0U);
  EXPECT_EQ(pick("last~2", kIds).value(), 2U);
}

TEST(Names, a_beginning_of_several_is_refused_with_their_ids) {
  const auto at = pick("ab", kIds);
  ASSERT_FALSE(at.has_value());
  EXPECT_EQ(at.error().code, Errc::kInvalid);
  EXPECT_NE(at.error().message.find("ab12ff, ab34ff"), std::string::npos);
}

TEST(Names, a_slip_is_answered_with_the_nearest_id) {
  EXPECT_NE(pick("cd65ff", kIds).error().message.find("did you mean 'cd56ff'?"), std::string::npos);
  EXPECT_NE(pick("lost", kIds).error().message.find("did you mean 'last'?"), std::string::npos);
  EXPECT_EQ(pick("zzzzzzzz", kIds).error().code, Errc::kNotFound);
}

TEST(Names, there_is_no_run_before_the_first) {
  EXPECT_EQ(pick("last~3", kIds).error().code, Errc::kNotFound);
  EXPECT_EQ(pick("last-1", kIds).error().code, Errc::kInvalid);
  EXPECT_EQ(pick("last~x", kIds).error().code, Errc::kInvalid);
  EXPECT_EQ(pick("last", {}).error().code, Errc::kNotFound);
  EXPECT_EQ(pick("", kIds).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace bellwether::results
