#include "election/quorum/quorum_timing.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace bellwether::quorum {
namespace {

using testing::HasSubstr;

TEST(QuorumTiming, profiles_are_safe) {
  EXPECT_TRUE(QuorumTiming::lan().validate().has_value());
  EXPECT_TRUE(QuorumTiming::wan().validate().has_value());
}

TEST(QuorumTiming, refuses_a_lease_that_one_lost_message_ends_and_shows_the_arithmetic) {
  QuorumTiming timing;
  timing.heartbeat = Duration::millis(200);
  const Status status = timing.validate();
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message, HasSubstr("3 x 200ms"));
}

TEST(QuorumTiming, refuses_clocks_and_leases_that_nobody_could_rely_on) {
  QuorumTiming timing;
  timing.drift = 0.5;
  EXPECT_FALSE(timing.validate().has_value());
  timing = {};
  timing.lease = kLongestLease + Duration::seconds(1);
  EXPECT_FALSE(timing.validate().has_value());
  timing = {};
  timing.step = Duration::zero();
  EXPECT_FALSE(timing.validate().has_value());
}

// A promise never ends, in true time, before the acts that were made on it: the leader's clock may be the slowest, the
// follower's the fastest that is permitted.
RC_GTEST_PROP(QuorumTiming, a_promise_outlasts_every_act, ()) {
  QuorumTiming timing;
  timing.lease = Duration::millis(*rc::gen::inRange<int64_t>(400, 60'000));
  timing.drift = *rc::gen::inRange(0, 200) / 1000.0;
  const double acts_until = timing.longest_act().seconds_f() / (1 - timing.drift);
  const double promised_until = timing.promise(timing.lease).seconds_f() / (1 + timing.drift);
  RC_ASSERT(acts_until <= promised_until + 2e-9);
}

TEST(QuorumBudget, of_five_members_on_a_lan_is_what_is_promised) {
  const auto budget = budget_of(QuorumTiming::lan(), {});
  EXPECT_LE(budget.crash_typical.total, Duration::millis(600));
  EXPECT_LE(budget.crash_worst.total, Duration::millis(1500));
  EXPECT_LE(budget.transfer.total, Duration::millis(50));
  EXPECT_EQ(budget.cut_off_stops.total, Duration::millis(495));
  EXPECT_THAT(budget.crash_worst.formula(), HasSubstr("lease x (1 + drift)"));
}

}  // namespace
}  // namespace bellwether::quorum
