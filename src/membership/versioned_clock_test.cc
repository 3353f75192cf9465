#include "membership/versioned_clock.h"

#include <gtest/gtest.h>

namespace bellwether::membership {
namespace {

constexpr Instant kNow = Instant::from_ns(1);

TEST(VersionedClock, accepts_only_what_is_newer) {
  VersionedClock clock(10);
  EXPECT_TRUE(clock.accept(1, {1, 5}, kNow));
  EXPECT_FALSE(clock.accept(1, {1, 5}, kNow));
  EXPECT_FALSE(clock.accept(1, {1, 4}, kNow));
  EXPECT_TRUE(clock.is_stale(1, {1, 5}));
  EXPECT_FALSE(clock.is_stale(1, {1, 6}));
  EXPECT_FALSE(clock.is_stale(2, {1, 1}));
  EXPECT_TRUE(clock.accept(1, {1, 6}, kNow));
  EXPECT_EQ(clock.last(1), (StateVersion{1, 6}));
}

TEST(VersionedClock, a_new_life_may_count_from_one_again) {
  VersionedClock clock(10);
  EXPECT_TRUE(clock.accept(1, {1, 500}, kNow));
  EXPECT_TRUE(clock.accept(1, {2, 1}, kNow));
  EXPECT_FALSE(clock.accept(1, {1, 501}, kNow));
}

TEST(VersionedClock, forgets_who_is_not_updated_and_is_bounded) {
  VersionedClock clock(2);
  EXPECT_TRUE(clock.accept(1, {1, 1}, kNow));
  EXPECT_TRUE(clock.accept(2, {1, 1}, kNow + Duration::seconds(10)));
  EXPECT_FALSE(clock.accept(3, {1, 1}, kNow));
  clock.forget_older_than(Duration::seconds(5), kNow + Duration::seconds(10));
  EXPECT_EQ(clock.size(), 1U);
  EXPECT_TRUE(clock.accept(3, {1, 1}, kNow));
}

}  // namespace
}  // namespace bellwether::membership
