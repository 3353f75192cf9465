#include <gmock/gmock.h>

#include "core/base/time_testing.h"
#include "core/resilience/request_limiter.h"

namespace bellwether::resilience {
namespace {

Duration s(double seconds) { return Duration::from_seconds_f(seconds); }

struct ClientLimiterTest : testing::Test {
  ClientLimiter limiter;
  ClientLimiter::Call call;
};

TEST_F(ClientLimiterTest, each_wait_is_half_as_long_again_and_after_three_a_call_is_given_up) {
  EXPECT_EQ(limiter.refused(call, at_seconds(0), "m1", Operation::kSubmit, s(2)), at_seconds(2));
  EXPECT_EQ(limiter.refused(call, at_seconds(2), "m1", Operation::kSubmit, s(2)), at_seconds(5));
  EXPECT_EQ(limiter.refused(call, at_seconds(5), "m1", Operation::kSubmit, s(2)), at_seconds(9.5));
  EXPECT_EQ(limiter.refused(call, at_seconds(9.5), "m1", Operation::kSubmit, s(2)), std::nullopt);
}

TEST_F(ClientLimiterTest, a_call_waits_for_a_minute_in_all) {
  EXPECT_EQ(limiter.refused(call, at_seconds(0), "m1", Operation::kSubmit, s(61)), std::nullopt);
  ClientLimiter::Call other;
  EXPECT_EQ(limiter.refused(other, at_seconds(0), "m1", Operation::kSubmit, s(25)), at_seconds(25));
  EXPECT_EQ(limiter.refused(other, at_seconds(25), "m1", Operation::kSubmit, s(25)), std::nullopt) << "37.5 s more";
  ClientLimiter::Call third;
  EXPECT_TRUE(limiter.waits(third, s(60)));
  EXPECT_FALSE(limiter.waits(third, s(0.1)));
}

TEST_F(ClientLimiterTest, what_was_refused_holds_back_other_calls_of_that_operation_to_that_peer) {
  limiter.refused(call, at_seconds(0), "m1", Operation::kSubmit, s(3));
  EXPECT_EQ(limiter.ready("m1", Operation::kSubmit), at_seconds(3));
  EXPECT_LE(limiter.ready("m1", Operation::kStatus), at_seconds(0));
  EXPECT_LE(limiter.ready("m2", Operation::kSubmit), at_seconds(0));
}

TEST_F(ClientLimiterTest, an_earlier_end_does_not_shorten_what_was_said_before) {
  ClientLimiter::Call one;
  ClientLimiter::Call two;
  limiter.refused(one, at_seconds(0), "m1", Operation::kSubmit, s(9));
  limiter.refused(two, at_seconds(1), "m1", Operation::kSubmit, s(1));
  EXPECT_EQ(limiter.ready("m1", Operation::kSubmit), at_seconds(9));
}

TEST_F(ClientLimiterTest, what_it_remembers_is_bounded) {
  for (int i = 0; i < 5'000; ++i) {
    ClientLimiter::Call call;
    limiter.refused(call, at_seconds(i), "m" + std::to_string(i), Operation::kSubmit, s(1));
  }
  EXPECT_EQ(limiter.held(), ClientLimiter::kMaxHeld);
  EXPECT_EQ(limiter.ready("m4999", Operation::kSubmit), at_seconds(5'000)) << "the oldest went";
}

}  // namespace
}  // namespace bellwether::resilience
