#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/register/small.h"

namespace bellwether::registers {
namespace {

using testing::ElementsAre;

const ReplicaSet kThree{0, {"a", "b", "c"}, {}};

TEST(ReplicaSet, changes_in_two_steps) {
  const auto added = begin_change(kThree, {"ab", ""});
  ASSERT_TRUE(added);
  EXPECT_EQ(*added, (ReplicaSet{1, {"a", "b", "c"}, {"a", "ab", "b", "c"}}));
  EXPECT_EQ(end_change(*added), (ReplicaSet{2, {"a", "ab", "b", "c"}, {}}));
  const auto replaced = begin_change(kThree, {"d", "a"});
  ASSERT_TRUE(replaced);
  EXPECT_EQ(*replaced, (ReplicaSet{1, {"a", "b", "c"}, {"b", "c", "d"}}));
  EXPECT_THAT(replaced->all(), ElementsAre("a", "b", "c", "d"));
  EXPECT_TRUE(replaced->has("a") && replaced->has("d"));
  EXPECT_FALSE(replaced->has("e"));
}

TEST(ReplicaSet, a_change_under_way_needs_majorities_of_both) {
  const ReplicaSet set{1, {"a", "b", "c"}, {"c", "d", "e"}};
  const auto agree = [&](const std::string& names) {
    return set.agreed([&](const std::string& name) { return names.find(name) != std::string::npos; });
  };
  EXPECT_FALSE(agree("ab"));
  EXPECT_FALSE(agree("de"));
  EXPECT_TRUE(agree("acd"));
  EXPECT_TRUE(agree("abde"));
}

TEST(ReplicaSet, refuses_a_change_that_is_none) {
  const auto why = [](const ReplicaSet& from, const SetWish& wish) { return begin_change(from, wish).error().code; };
  EXPECT_EQ(why(*begin_change(kThree, {"d", ""}), {"e", ""}), Errc::kInvalid);
  EXPECT_EQ(why(kThree, {}), Errc::kInvalid);
  EXPECT_EQ(why(kThree, {"a", ""}), Errc::kExists);
  EXPECT_EQ(why(kThree, {"", "d"}), Errc::kNotFound);
  EXPECT_EQ(why({0, {"a"}, {}}, {"", "a"}), Errc::kRefused);
  ReplicaSet most{0, {}, {}};
  for (std::size_t i = 0; i < kMaxReplicas; ++i) most.names.push_back(fmt::format("n{:02}", i));
  EXPECT_EQ(why(most, {"z", ""}), Errc::kTooLarge);
  EXPECT_TRUE(begin_change(most, {"", "n00"}));
}

TEST(ReplicaSet, says_whether_a_wish_is_fulfilled) {
  EXPECT_TRUE(is_fulfilled({}, kThree));
  EXPECT_TRUE(is_fulfilled({"a", "d"}, kThree));
  EXPECT_FALSE(is_fulfilled({"d", ""}, kThree));
  EXPECT_FALSE(is_fulfilled({"", "a"}, kThree));
}

}  // namespace
}  // namespace bellwether::registers
