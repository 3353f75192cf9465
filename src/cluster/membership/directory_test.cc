#include "cluster/membership/directory.h"

#include <gtest/gtest.h>

namespace bellwether::membership {
namespace {

TEST(Directory, gives_each_name_one_number_until_nobody_holds_it) {
  Directory directory;
  const auto first = directory.hold("a");
  ASSERT_TRUE(first);
  EXPECT_EQ(directory.hold("a"), first);
  EXPECT_NE(directory.hold("b"), first);
  EXPECT_EQ(directory.find(node_id("a")), first);
  directory.release(*first);
  EXPECT_EQ(directory.find(node_id("a")), first);
  directory.release(*first);
  EXPECT_FALSE(directory.find(node_id("a")));
  EXPECT_EQ(directory.hold("c"), first) << "the number is used again";
}

TEST(Directory, keeps_equal_profiles_once) {
  Directory directory;
  const Profile one{.endpoint = Endpoint::v4({1, 2, 3, 4}, 5), .role = 6, .meta = "m"};
  Profile other = one;
  other.meta = "n";
  const ProfileIndex index = directory.hold_profile(one);
  EXPECT_EQ(directory.hold_profile(one), index);
  EXPECT_NE(directory.hold_profile(other), index);
  directory.release_profile(index);
  EXPECT_EQ(directory.profile(index), one);
  directory.release_profile(index);
  EXPECT_EQ(directory.hold_profile({.endpoint = {}, .role = 9, .meta = {}}), index);
}

}  // namespace
}  // namespace bellwether::membership
