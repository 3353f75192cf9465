#include "core/base/time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace bellwether {
namespace {

TEST(Time, units_are_powers_of_nanoseconds) {
  EXPECT_EQ(Duration::micros(2).ns(), 2'000);
  EXPECT_EQ(Duration::millis(2).us(), 2'000);
  EXPECT_EQ(Duration::seconds(2).ms(), 2'000);
  EXPECT_EQ(Duration::minutes(2), Duration::seconds(120));
  EXPECT_EQ(Duration::hours(2), Duration::minutes(120));
  EXPECT_EQ(Duration::from_seconds_f(1.5), Duration::millis(1500));
  EXPECT_DOUBLE_EQ(Duration::millis(1500).seconds_f(), 1.5);
  EXPECT_DOUBLE_EQ(Duration::micros(1500).millis_f(), 1.5);
  EXPECT_EQ(Duration(), Duration::zero());
}

TEST(Time, durations_are_reckoned_with) {
  const Duration a = Duration::seconds(5);
  const Duration b = Duration::seconds(2);
  EXPECT_EQ(a + b, Duration::seconds(7));
  EXPECT_EQ(b - a, -Duration::seconds(3));
  EXPECT_EQ(a * 3, Duration::seconds(15));
  EXPECT_EQ(a / 2, Duration::millis(2500));
  EXPECT_EQ(a / b, 2);
  EXPECT_LT(b, a);
  Duration sum = a;
  sum += b;
  sum -= Duration::seconds(1);
  EXPECT_EQ(sum, Duration::seconds(6));
}

TEST(Time, truncation_is_towards_zero) {
  EXPECT_EQ(Duration::nanos(1'999'999).ms(), 1);
  EXPECT_EQ(Duration::nanos(-1'999'999).ms(), -1);
}

RC_GTEST_PROP(Time, adding_a_span_and_taking_it_off_again_changes_nothing, (int64_t at, int64_t span)) {
  const Instant from = Instant::from_ns(at / 2);
  const Duration by = Duration::nanos(span / 2 - (span == INT64_MAX ? 1 : 0));
  if (from + by == Instant::never()) return;
  RC_ASSERT((from + by) - by == from);
  RC_ASSERT((from + by) - from == by);
  RC_ASSERT((from + by < from) == (by < Duration::zero()));
}

TEST(Time, never_stays_never) {
  EXPECT_EQ(Instant::never() + Duration::seconds(1), Instant::never());
  EXPECT_EQ(Instant::never() + Duration::seconds(-1), Instant::never());
  EXPECT_EQ(Instant::never() - Duration::seconds(1), Instant::never());
  EXPECT_EQ(Instant::from_ns(1) + Duration::max(), Instant::never());
  EXPECT_LT(Instant::from_ns(INT64_MAX - 1), Instant::never());
  Instant at = Instant::from_ns(5);
  at += Duration::nanos(2);
  EXPECT_EQ(at.ns(), 7);
}

TEST(Time, wall_times_have_an_order) { EXPECT_LT(WallTime{1}, WallTime{2}); }

}  // namespace
}  // namespace bellwether
