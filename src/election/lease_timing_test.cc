#include "election/lease_timing.h"

#include <gmock/gmock.h>

namespace bellwether::election {
namespace {

using testing::HasSubstr;

TEST(LeaseTiming, what_is_made_of_any_lease_is_safe) {
  for (const int64_t ms : {100, 250, 1000, 2000, 3000, 15'000, 60'000, 180'000, 3'600'000}) {
    const auto timing = LeaseTiming::of(Duration::millis(ms));
    const auto valid = timing.validate();
    EXPECT_TRUE(valid) << ms << " ms: " << (valid ? "" : valid.error().message);
    EXPECT_TRUE(timing.warnings().empty()) << ms << " ms: " << timing.warnings()[0];
  }
}

TEST(LeaseTiming, the_last_act_of_a_slow_clock_comes_before_the_first_of_a_fast_one) {
  const auto timing = LeaseTiming::of(Duration::seconds(15));
  const double last_act = timing.last_act().seconds_f() / (1 - timing.drift);
  const double first_take = timing.takeable_after(timing.lease).seconds_f() / (1 + timing.drift);
  EXPECT_LT(last_act, first_take);
}

TEST(LeaseTiming, a_grace_that_outlives_the_lease_is_refused_with_the_arithmetic) {
  auto timing = LeaseTiming::of(Duration::seconds(15));
  timing.stop_grace = Duration::seconds(8);
  const auto valid = timing.validate();
  ASSERT_FALSE(valid);
  for (const char* part : {"10s", "8s", "19s", "15s", "1 %", "14.85s", "at least"}) {
    EXPECT_THAT(valid.error().message, HasSubstr(part));
  }
}

TEST(LeaseTiming, a_renewal_that_cannot_be_answered_in_time_is_refused) {
  auto timing = LeaseTiming::of(Duration::seconds(15));
  timing.renew_every = Duration::seconds(9);
  const auto valid = timing.validate();
  ASSERT_FALSE(valid);
  EXPECT_THAT(valid.error().message, HasSubstr("one slow answer"));
}

TEST(LeaseTiming, nonsense_is_refused) {
  for (const auto& spoil :
       {+[](LeaseTiming& t) { t.lease = Duration::zero(); },
        +[](LeaseTiming& t) { t.lease = Duration::hours(24 * 366); },
        +[](LeaseTiming& t) { t.renew_every = Duration::zero(); },
        +[](LeaseTiming& t) { t.store_timeout = -Duration::seconds(1); },
        +[](LeaseTiming& t) { t.stop_grace = -Duration::seconds(1); }, +[](LeaseTiming& t) { t.drift = -0.1; },
        +[](LeaseTiming& t) { t.drift = 0.5; }, +[](LeaseTiming& t) { t.jitter = 1; }}) {
    auto timing = LeaseTiming::of(Duration::seconds(15));
    spoil(timing);
    EXPECT_FALSE(timing.validate());
  }
}

TEST(LeaseTiming, a_thin_margin_is_warned_about) {
  auto timing = LeaseTiming::of(Duration::seconds(15));
  timing.renew_every = Duration::seconds(7);
  EXPECT_THAT(timing.warnings(), testing::Contains(HasSubstr("safety margin")));
}

}  // namespace
}  // namespace bellwether::election
