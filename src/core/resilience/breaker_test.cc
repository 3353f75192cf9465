#include "core/resilience/breaker.h"

#include <gmock/gmock.h>

#include "core/base/time_testing.h"

namespace bellwether::resilience {
namespace {

class BreakerTest : public testing::Test {
 protected:
  void fail(std::initializer_list<int64_t> seconds) {
    for (const int64_t second : seconds) breaker_.failed(at_seconds(second));
  }
  Breaker breaker_{BreakerSettings{}};
};

TEST_F(BreakerTest, three_failures_in_half_a_minute_open_it) {
  fail({0, 10});
  EXPECT_TRUE(breaker_.allow(at_seconds(10)));
  fail({29});
  EXPECT_EQ(breaker_.state(at_seconds(29)), BreakerState::kOpen);
  EXPECT_FALSE(breaker_.allow(at_seconds(29)));
}

TEST_F(BreakerTest, failures_further_apart_do_not) {
  fail({0, 15, 30, 45, 60});
  EXPECT_EQ(breaker_.state(at_seconds(60)), BreakerState::kClosed);
  EXPECT_EQ(breaker_.failures(at_seconds(60)), 2);
}

TEST_F(BreakerTest, after_ten_seconds_one_trial_decides) {
  fail({0, 0, 0});
  EXPECT_FALSE(breaker_.allow(at_seconds(9)));
  EXPECT_EQ(breaker_.state(at_seconds(10)), BreakerState::kHalfOpen);
  EXPECT_TRUE(breaker_.allow(at_seconds(10)));
  EXPECT_FALSE(breaker_.allow(at_seconds(11))) << "one at a time";
  breaker_.failed(at_seconds(12));
  EXPECT_FALSE(breaker_.allow(at_seconds(21)));
  EXPECT_TRUE(breaker_.allow(at_seconds(22)));
  breaker_.succeeded();
  EXPECT_EQ(breaker_.state(at_seconds(22)), BreakerState::kClosed);
  fail({23, 24});
  EXPECT_TRUE(breaker_.allow(at_seconds(24))) << "what was before the trial is forgotten";
  EXPECT_EQ(breaker_.times_opened(), 2);
}

TEST_F(BreakerTest, a_trial_whose_outcome_is_never_told_keeps_nobody_out_for_ever) {
  fail({0, 0, 0});
  EXPECT_TRUE(breaker_.allow(at_seconds(10)));
  EXPECT_FALSE(breaker_.allow(at_seconds(19)));
  EXPECT_TRUE(breaker_.allow(at_seconds(20)));
}

TEST_F(BreakerTest, an_answer_that_was_under_way_when_it_opened_does_not_close_it) {
  fail({0, 0, 0});
  breaker_.succeeded();
  EXPECT_FALSE(breaker_.allow(at_seconds(1)));
}

TEST_F(BreakerTest, answers_between_failures_do_not_hide_them) {
  fail({0, 1});
  breaker_.succeeded();
  fail({2});
  EXPECT_FALSE(breaker_.allow(at_seconds(3)));
}

TEST_F(BreakerTest, calls_that_were_under_way_when_it_opened_do_not_keep_it_open) {
  fail({0, 0, 0, 5, 6, 7});
  EXPECT_EQ(breaker_.state(at_seconds(10)), BreakerState::kHalfOpen);
  EXPECT_EQ(breaker_.times_opened(), 1);
}

TEST(Breakers, each_peer_and_each_category_has_its_own) {
  Breakers breakers;
  for (int i = 0; i < 3; ++i) breakers.failed(at_seconds(0), "a", Errc::kNoSpace);
  EXPECT_FALSE(breakers.allow(at_seconds(1), "a", Category::kState));
  EXPECT_TRUE(breakers.allow(at_seconds(1), "a", Category::kNetwork));
  EXPECT_TRUE(breakers.allow(at_seconds(1), "b", Category::kState));
  EXPECT_TRUE(breakers.is_open(at_seconds(1), "a"));
  EXPECT_FALSE(breakers.is_open(at_seconds(1), "b"));
  EXPECT_FALSE(breakers.is_open(at_seconds(10), "a")) << "it may be tried";
  EXPECT_EQ(breakers.retry_in(at_seconds(4), "a", Category::kState), Duration::seconds(6));
  EXPECT_EQ(breakers.retry_in(at_seconds(4), "a", Category::kNetwork), Duration::zero());
  EXPECT_EQ(breakers.retry_in(at_seconds(4), "b", Category::kState), Duration::zero());
  EXPECT_EQ(breakers.retry_in(at_seconds(10), "a", Category::kState), Duration::zero());
  EXPECT_TRUE(breakers.allow(at_seconds(10), "a", Category::kState));
  breakers.succeeded("a", Category::kState);
  EXPECT_TRUE(breakers.allow(at_seconds(10), "a", Category::kState));
  breakers.forget("a");
  EXPECT_EQ(breakers.peers(), 0);
}

TEST(Breakers, their_status_is_there_to_be_seen) {
  Breakers breakers;
  for (int i = 0; i < 3; ++i) breakers.failed(at_seconds(0), "b", Errc::kTimeout);
  breakers.failed(at_seconds(1), "a", Errc::kProtocol);
  std::vector<std::string> seen;
  for (const auto& s : breakers.status(at_seconds(4))) {
    seen.push_back(s.peer + " " + std::string(to_string(s.category)) + " " + std::string(to_string(s.state)) + " " +
                   std::to_string(s.failures) + " " + std::to_string(s.times_opened) + " " +
                   std::to_string(s.retry_in.ms()));
  }
  EXPECT_THAT(seen, testing::ElementsAre("a protocol closed 1 0 0", "b network open 3 1 6000"));
}

TEST(Breakers, they_are_bounded_and_forget_who_was_quiet_longest) {
  Breakers breakers;
  for (std::size_t i = 0; i < Breakers::kMaxPeers + 10; ++i) {
    breakers.failed(at_seconds(static_cast<int64_t>(i)), "peer-" + std::to_string(i), Errc::kReset);
  }
  EXPECT_EQ(breakers.peers(), Breakers::kMaxPeers);
  EXPECT_EQ(breakers.status(at_seconds(0)).size(), Breakers::kMaxPeers);
  breakers.failed(at_seconds(1'000'000), "peer-0", Errc::kReset);
  const auto all = breakers.status(at_seconds(1'000'000));
  EXPECT_TRUE(std::none_of(all.begin(), all.end(), [](const auto& s) { return s.peer == "peer-10"; }));
}

}  // namespace
}  // namespace bellwether::resilience
