#include "core/resilience/request_limiter.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "core/base/prng.h"
#include "core/base/time_testing.h"

namespace bellwether::resilience {
namespace {

constexpr Duration kWindow = Duration::seconds(10);
constexpr auto kClient = RequestLimiter::Party::kClient;
constexpr auto kNode = RequestLimiter::Party::kNode;

TEST(SlidingCounter, the_window_before_counts_as_far_as_it_still_reaches) {
  SlidingCounter counter;
  for (int i = 0; i < 100; ++i) counter.count(at_seconds(5), kWindow);
  for (int i = 0; i < 30; ++i) counter.count(at_seconds(12.5), kWindow);
  EXPECT_NEAR(counter.counted(at_seconds(12.5), kWindow), 30 + 100 * 0.75, 1e-9);
  EXPECT_NEAR(counter.counted(at_seconds(25), kWindow), 15, 1e-9);
  EXPECT_EQ(counter.counted(at_seconds(35), kWindow), 0);
}

RC_GTEST_PROP(SlidingCounter, after_the_wait_there_is_room_and_not_long_before, (uint64_t seed)) {
  Prng random(seed);
  SlidingCounter counter;
  Instant now = at_seconds(static_cast<double>(random.below(100)));
  const double most = 1 + static_cast<double>(random.below(50));
  for (int i = 0; i < 400; ++i) {
    now += Duration::millis(static_cast<int64_t>(random.below(300)));
    const Duration wait = counter.wait(now, kWindow, most);
    RC_ASSERT(wait <= kWindow * 2 + Duration::nanos(2));
    if (wait > Duration::zero()) {
      RC_ASSERT(counter.wait(now + wait, kWindow, most) == Duration::zero());
      RC_ASSERT(counter.wait(now + wait - Duration::micros(1), kWindow, most) > Duration::zero());
    } else {
      counter.count(now, kWindow);
      RC_ASSERT(counter.counted(now, kWindow) <= most + 1e-6);
    }
  }
}

class RequestLimiterTest : public testing::Test {
 protected:
  // How many of `count` at once are let through.
  int passed(Instant now, RequestLimiter::Party party, std::string_view who, Operation operation, int count,
             LoadState state = LoadState::kHealthy) {
    int through = 0;
    for (int i = 0; i < count; ++i) through += limiter_.refuses(now, party, who, operation, state) ? 0 : 1;
    return through;
  }
  RequestLimiter limiter_;
};

TEST_F(RequestLimiterTest, each_operation_of_each_client_has_a_limit_of_its_own) {
  EXPECT_EQ(passed(at_seconds(0), kClient, "a", Operation::kSubmit, 60), 50);
  EXPECT_EQ(passed(at_seconds(0), kClient, "a", Operation::kStatus, 200), 100);
  EXPECT_EQ(passed(at_seconds(0), kClient, "b", Operation::kSubmit, 60), 50);
}

TEST_F(RequestLimiterTest, who_is_refused_is_told_when_to_come_back_and_then_may) {
  ASSERT_EQ(passed(at_seconds(2), kClient, "a", Operation::kSubmit, 50), 50);
  const auto wait = limiter_.refuses(at_seconds(2), kClient, "a", Operation::kSubmit, LoadState::kHealthy);
  ASSERT_TRUE(wait);
  EXPECT_GT(*wait, Duration::seconds(8)) << "the window ends first";
  EXPECT_LT(*wait, Duration::seconds(9));
  EXPECT_EQ(limiter_.refuses(at_seconds(2) + *wait, kClient, "a", Operation::kSubmit, LoadState::kHealthy),
            std::nullopt);
}

TEST_F(RequestLimiterTest, being_refused_costs_nothing) {
  EXPECT_EQ(passed(at_seconds(0), kClient, "a", Operation::kFetch, 1000), 10);
  EXPECT_EQ(passed(at_seconds(19), kClient, "a", Operation::kFetch, 1000), 9);
}

TEST_F(RequestLimiterTest, nodes_have_larger_budgets_and_a_client_of_the_same_name_none_of_them) {
  EXPECT_EQ(passed(at_seconds(0), kNode, "w1", Operation::kProgress, 5'000), 3'000);
  EXPECT_EQ(passed(at_seconds(0), kClient, "w1", Operation::kProgress, 5'000), 300);
}

TEST_F(RequestLimiterTest, a_worker_that_tells_each_50_ms_of_several_shares_is_never_refused) {
  for (int i = 0; i < 1'200; ++i) {
    EXPECT_EQ(passed(at_seconds(i * 0.05), kNode, "w1", Operation::kProgress, 10), 10) << i;
  }
}

TEST_F(RequestLimiterTest, under_stress_clients_share_evenly_whatever_they_ask_for) {
  for (const char* who : {"a", "b", "c", "d"}) passed(at_seconds(0), kClient, who, Operation::kCancel, 1);
  for (const char* who : {"m1", "m2", "w1"}) passed(at_seconds(0), kNode, who, Operation::kProgress, 1);
  EXPECT_EQ(limiter_.fair_share(), 125);
  const int greedy = passed(at_seconds(10), kClient, "a", Operation::kSubmit, 200, LoadState::kStressed) +
                     passed(at_seconds(10), kClient, "a", Operation::kDispatch, 200, LoadState::kStressed);
  EXPECT_EQ(greedy, 124) << "one is of the window before";
  EXPECT_EQ(passed(at_seconds(10), kClient, "b", Operation::kSubmit, 20, LoadState::kStressed), 20);
  EXPECT_EQ(passed(at_seconds(10), kNode, "m2", Operation::kDispatch, 500, LoadState::kStressed), 500);
}

TEST_F(RequestLimiterTest, under_stress_many_clients_together_are_limited_too) {
  int through = 0;
  for (int i = 0; i < 2'000; ++i) {
    through += passed(at_seconds(0), kClient, std::to_string(i), Operation::kSubmit, 3, LoadState::kStressed);
  }
  EXPECT_EQ(through, 500);
}

TEST_F(RequestLimiterTest, who_is_quiet_for_long_is_forgotten_and_many_push_out_the_quietest) {
  passed(at_seconds(0), kClient, "a", Operation::kSubmit, 1);
  passed(at_seconds(200), kClient, "b", Operation::kSubmit, 1);
  passed(at_seconds(301), kClient, "c", Operation::kSubmit, 1);
  EXPECT_NEAR(limiter_.fair_share(), 250, 1e-9) << "of two clients";
  RequestLimiter small({.clients_most = 5});
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(small.refuses(at_seconds(302), kClient, std::to_string(i), Operation::kSubmit, LoadState::kHealthy));
  }
  EXPECT_NEAR(small.fair_share(), 100, 1e-9) << "of five clients";
}

}  // namespace
}  // namespace bellwether::resilience
