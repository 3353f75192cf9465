#include <gtest/gtest.h>

#include "cluster/membership/membership_events.h"

namespace bellwether::membership {
namespace {

constexpr Instant kVersionedClockNow = Instant::from_ns(1);

TEST(VersionedClock, accepts_only_what_is_newer) {
  VersionedClock clock(10);
  EXPECT_TRUE(clock.accept(1, {1, 5}, kVersionedClockNow));
  EXPECT_FALSE(clock.accept(1, {1, 5}, kVersionedClockNow));
  EXPECT_FALSE(clock.accept(1, {1, 4}, kVersionedClockNow));
  EXPECT_TRUE(clock.is_stale(1, {1, 5}));
  EXPECT_FALSE(clock.is_stale(1, {1, 6}));
  EXPECT_FALSE(clock.is_stale(2, {1, 1}));
  EXPECT_TRUE(clock.accept(1, {1, 6}, kVersionedClockNow));
  EXPECT_EQ(clock.last(1), (StateVersion{1, 6}));
}

TEST(VersionedClock, a_new_life_may_count_from_one_again) {
  VersionedClock clock(10);
  EXPECT_TRUE(clock.accept(1, {1, 500}, kVersionedClockNow));
  EXPECT_TRUE(clock.accept(1, {2, 1}, kVersionedClockNow));
  EXPECT_FALSE(clock.accept(1, {1, 501}, kVersionedClockNow));
}

TEST(VersionedClock, forgets_who_is_not_updated_and_is_bounded) {
  VersionedClock clock(2);
  EXPECT_TRUE(clock.accept(1, {1, 1}, kVersionedClockNow));
  EXPECT_TRUE(clock.accept(2, {1, 1}, kVersionedClockNow + Duration::seconds(10)));
  EXPECT_FALSE(clock.accept(3, {1, 1}, kVersionedClockNow));
  clock.forget_older_than(Duration::seconds(5), kVersionedClockNow + Duration::seconds(10));
  EXPECT_EQ(clock.size(), 1U);
  EXPECT_TRUE(clock.accept(3, {1, 1}, kVersionedClockNow));
}

}  // namespace
}  // namespace bellwether::membership
