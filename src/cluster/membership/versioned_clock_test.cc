#include <gtest/gtest.h>

#include "cluster/membership/membership_events.h"

namespace bellwether::membership {
namespace {

TEST(VersionedClock, accepts_only_what_is_newer) {
  VersionedClock clock(10);
  EXPECT_TRUE(clock.accept(1, {1, 5}));
  EXPECT_FALSE(clock.accept(1, {1, 5}));
  EXPECT_FALSE(clock.accept(1, {1, 4}));
  EXPECT_TRUE(clock.accept(1, {1, 6}));
  EXPECT_EQ(clock.last(1), (StateVersion{1, 6}));
  EXPECT_EQ(clock.last(2), StateVersion());
}

TEST(VersionedClock, a_new_life_may_count_from_one_again) {
  VersionedClock clock(10);
  EXPECT_TRUE(clock.accept(1, {1, 500}));
  EXPECT_TRUE(clock.accept(1, {2, 1}));
  EXPECT_FALSE(clock.accept(1, {1, 501}));
}

TEST(VersionedClock, is_bounded_and_forgets) {
  VersionedClock clock(2);
  EXPECT_TRUE(clock.accept(1, {1, 1}));
  EXPECT_TRUE(clock.accept(2, {1, 1}));
  EXPECT_FALSE(clock.accept(3, {1, 1}));
  clock.forget(1);
  EXPECT_EQ(clock.size(), 1U);
  EXPECT_TRUE(clock.accept(3, {1, 1}));
}

}  // namespace
}  // namespace bellwether::membership
