#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <vector>

#include "load/metrics/histogram.h"

namespace bellwether::metrics {
namespace {

Duration ms(int64_t value) { return Duration::millis(value); }

void expect_near(ResponseFigure figure, Duration value, bool known) {
  EXPECT_NEAR(figure.value.millis_f(), value.millis_f(), value.millis_f() * 1e-3);
  EXPECT_EQ(figure.known(), known);
}

TEST(ResponseTimesTest, without_failures_the_figures_are_those_of_the_responses) {
  ResponseTimes times;
  EXPECT_TRUE(times.empty());
  EXPECT_EQ(times.percentile(99).value, Duration::zero());
  for (int i = 1; i <= 100; ++i) times.answered.record(ms(i));
  for (const double percent : {0.0, 1.0, 50.0, 95.0, 99.0, 100.0}) {
    const Duration same = times.answered.percentile(percent);
    EXPECT_EQ(times.percentile(percent), (ResponseFigure{same, same}));
    EXPECT_TRUE(times.percentile(percent).known());
  }
  EXPECT_EQ(times.mean().value, times.answered.mean());
  EXPECT_EQ(times.max().value, ms(100));
}

TEST(ResponseTimesTest, a_request_without_a_response_is_slower_than_every_response) {
  ResponseTimes times;
  times.answered.record(ms(45), 50);
  times.unanswered.record(ms(1000), 50);
  expect_near(times.percentile(50), ms(45), true);
  expect_near(times.percentile(51), ms(1000), false);
  expect_near(times.percentile(95), ms(1000), false);
  expect_near(times.mean(), Duration::micros(522'500), false);
  expect_near(times.max(), ms(1000), false);

  ResponseTimes refused;  // at once, and yet not quick
  refused.answered.record(ms(45), 50);
  refused.unanswered.record(Duration::micros(50), 50);
  expect_near(refused.percentile(95), ms(45), false);
  expect_near(refused.mean(), ms(45), false);

  ResponseTimes none;
  none.unanswered.record(ms(3));
  expect_near(none.percentile(50), ms(3), false);
  expect_near(none.percentile(0), ms(3), false);
}

TEST(ResponseTimesTest, the_wait_of_an_unfinished_request_is_a_lower_bound) {
  // One of ten arrivals was dropped after waits of up to a second.
  ResponseTimes times;
  times.answered.record(ms(2), 900);
  for (int i = 1; i <= 100; ++i) times.unfinished.record(ms(10 * i));
  expect_near(times.percentile(50), ms(2), true);
  expect_near(times.percentile(90), ms(2), true);
  expect_near(times.percentile(95), ms(500), false);
  EXPECT_EQ(times.percentile(95).most, std::nullopt);

  // Short waits do not make the figures better than those of the responses.
  ResponseTimes slow;
  for (int i = 1; i <= 100; ++i) slow.answered.record(ms(100 + i));
  slow.unfinished.record(ms(1), 100);
  EXPECT_EQ(slow.percentile(90).value, slow.answered.percentile(90));
  EXPECT_FALSE(slow.percentile(90).known());
  EXPECT_EQ(slow.percentile(25).most, slow.answered.percentile(50));
  EXPECT_EQ(slow.mean().value, slow.answered.mean());
}

// --- properties ------------------------------------------------------------------------------------------------------

struct Outcomes {
  std::vector<int> answered;
  std::vector<int> unanswered;
  std::vector<int> unfinished;
  ResponseTimes times() const {
    ResponseTimes out;
    for (const int one : answered) out.answered.record(Duration::micros(one));
    for (const int one : unanswered) out.unanswered.record(Duration::micros(one));
    for (const int one : unfinished) out.unfinished.record(Duration::micros(one));
    return out;
  }
};

Outcomes any_outcomes() {
  const auto some = rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 100'000));
  return {*rc::gen::nonEmpty(some), *some, *some};
}

constexpr double kPercents[] = {1, 25, 50, 90, 95, 99, 99.9, 100};

RC_GTEST_PROP(ResponseTimesProperty, no_figure_gets_better_by_failing_or_dropping, ()) {
  Outcomes outcomes = any_outcomes();
  const ResponseTimes before = outcomes.times();
  // A further request fails or is dropped, or one that was answered, as quickly as you like.
  if (*rc::gen::arbitrary<bool>() && outcomes.answered.size() > 1) {
    outcomes.answered.erase(outcomes.answered.begin() + *rc::gen::inRange<std::ptrdiff_t>(
                                                            0, static_cast<std::ptrdiff_t>(outcomes.answered.size())));
  }
  auto& lost = *rc::gen::arbitrary<bool>() ? outcomes.unanswered : outcomes.unfinished;
  lost.push_back(*rc::gen::inRange(0, 100'000));
  const ResponseTimes after = outcomes.times();
  for (const double percent : kPercents) {
    const auto most = after.percentile(percent).most;
    const auto most_before = before.percentile(percent).most;
    // The two are middles of buckets, clamped to the least and the most that was recorded.
    RC_ASSERT(!most || (most_before && most->millis_f() >= most_before->millis_f() * (1 - 1e-3)));
  }
}

RC_GTEST_PROP(ResponseTimesProperty, a_figure_lies_between_its_bounds_and_not_below_that_of_the_responses, ()) {
  const ResponseTimes times = any_outcomes().times();
  ResponseFigure last{Duration::zero(), Duration::zero()};
  for (const double percent : kPercents) {
    const ResponseFigure figure = times.percentile(percent);
    RC_ASSERT(figure.value >= times.answered.percentile(percent));
    RC_ASSERT(!figure.most || *figure.most >= figure.value);
    RC_ASSERT(figure.value >= last.value);
    RC_ASSERT(!figure.most || (last.most && *figure.most >= *last.most));
    last = figure;
  }
  RC_ASSERT(times.mean().value >= times.answered.mean());
  RC_ASSERT(times.max().value >= times.answered.max());
}

RC_GTEST_PROP(ResponseTimesProperty, merged_parts_give_the_whole, ()) {
  const Outcomes one = any_outcomes();
  const Outcomes other = any_outcomes();
  ResponseTimes merged = one.times();
  merged.merge(other.times());
  Outcomes both = one;
  for (const auto part : {&Outcomes::answered, &Outcomes::unanswered, &Outcomes::unfinished}) {
    (both.*part).insert((both.*part).end(), (other.*part).begin(), (other.*part).end());
  }
  RC_ASSERT(merged == both.times());
}

}  // namespace
}  // namespace bellwether::metrics
