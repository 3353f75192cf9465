#include <gtest/gtest.h>

#include "cluster/membership/suspicions.h"

namespace bellwether::membership {
namespace {

constexpr Instant kNow = Instant::from_ns(1'000'000'000);

TEST(CorrelationGuard, holds_when_more_than_half_look_failing) {
  CorrelationGuard guard(Duration::seconds(30));
  EXPECT_FALSE(guard.holds(1, 5, 5, kNow));
  EXPECT_TRUE(guard.holds(1, 4, 5, kNow));
  EXPECT_EQ(guard.since(1), kNow);
  EXPECT_FALSE(guard.holds(1, 9, 1, kNow));
  EXPECT_EQ(guard.since(1), Instant::never());
}

TEST(CorrelationGuard, silent_deaths_of_late_count_as_failing) {
  CorrelationGuard guard(Duration::seconds(30));
  for (int i = 0; i < 5; ++i) guard.died_silently(1, kNow);
  EXPECT_TRUE(guard.holds(1, 4, 1, kNow + Duration::seconds(1)));
  EXPECT_FALSE(guard.holds(1, 4, 1, kNow + Duration::seconds(40))) << "they are old news by then";
}

TEST(CorrelationGuard, needs_four_of_a_kind) {
  CorrelationGuard guard(Duration::seconds(30));
  EXPECT_FALSE(guard.holds(1, 0, 3, kNow));
  EXPECT_TRUE(guard.holds(1, 0, 4, kNow));
  EXPECT_FALSE(guard.holds(2, 4, 0, kNow)) << "kinds are looked at apart";
}

TEST(CorrelationGuard, ends_after_its_limit) {
  CorrelationGuard guard(Duration::seconds(30));
  EXPECT_TRUE(guard.holds(1, 1, 9, kNow));
  EXPECT_TRUE(guard.holds(1, 1, 9, kNow + Duration::seconds(29)));
  EXPECT_FALSE(guard.holds(1, 1, 9, kNow + Duration::seconds(30)));
}

}  // namespace
}  // namespace bellwether::membership
