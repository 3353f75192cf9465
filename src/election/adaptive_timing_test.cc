#include <gtest/gtest.h>

#include "core/base/prng.h"
#include "election/lease_timing.h"

namespace bellwether::election {
namespace {

constexpr Duration ms(int64_t n) { return Duration::millis(n); }

TEST(AdaptiveTiming, a_slow_renewal_lengthens_the_lease_at_once) {
  AdaptiveTiming adaptive({}, Duration::seconds(15));
  EXPECT_FALSE(adaptive.renewed(ms(100)));
  EXPECT_FALSE(adaptive.renewed(ms(500)));
  const auto longer = adaptive.renewed(ms(600));
  ASSERT_TRUE(longer);
  EXPECT_EQ(longer->lease, Duration::seconds(18));
  EXPECT_EQ(adaptive.renewed(Duration::hours(3))->lease, Duration::seconds(60)) << "never over the upper bound";
}

TEST(AdaptiveTiming, quick_renewals_shorten_it_slowly_and_not_under_the_lower_bound) {
  AdaptiveTiming adaptive({}, Duration::seconds(15));
  int changes = 0;
  for (int i = 0; i < 63; ++i) EXPECT_FALSE(adaptive.renewed(ms(1))) << i;
  EXPECT_EQ(adaptive.renewed(ms(1))->lease, ms(13'500));
  for (int i = 0; i < 5000; ++i) changes += adaptive.renewed(ms(1)) ? 1 : 0;
  EXPECT_GT(changes, 5);
  EXPECT_EQ(adaptive.timing().lease, Duration::seconds(5));
}

TEST(AdaptiveTiming, a_slow_renewal_is_remembered_for_a_window) {
  AdaptiveTiming adaptive({}, Duration::seconds(15));
  ASSERT_TRUE(adaptive.renewed(ms(1000)));
  for (int i = 0; i < 63; ++i) EXPECT_FALSE(adaptive.renewed(ms(1))) << i;
  EXPECT_TRUE(adaptive.renewed(ms(1)));
}

TEST(AdaptiveTiming, a_failure_doubles_the_lease) {
  AdaptiveTiming adaptive({}, Duration::seconds(15));
  EXPECT_EQ(adaptive.failed()->lease, Duration::seconds(30));
  EXPECT_EQ(adaptive.failed()->lease, Duration::seconds(60));
  EXPECT_FALSE(adaptive.failed());
}

TEST(AdaptiveTiming, whatever_happens_the_times_are_safe_and_keep_the_margin) {
  Prng prng(3);
  for (int round = 0; round < 200; ++round) {
    AdaptiveTiming adaptive({.lease_min = ms(prng.between(200, 2000)), .lease_max = ms(prng.between(2000, 90'000))},
                            ms(prng.between(1, 200'000)));
    for (int i = 0; i < 200; ++i) {
      const auto changed = prng.chance(0.1) ? adaptive.failed() : adaptive.renewed(ms(prng.between(0, 5000)));
      if (!changed) continue;
      EXPECT_TRUE(changed->validate());
      EXPECT_GE(changed->lease, changed->renew_every * 3);
    }
  }
}

}  // namespace
}  // namespace bellwether::election
