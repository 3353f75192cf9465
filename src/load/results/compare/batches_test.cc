#include <gtest/gtest.h>

#include "load/results/compare/compare.h"

namespace bellwether::results {
namespace {

metrics::Window interval(uint64_t second, uint64_t span, uint64_t count = 10) {
  metrics::Window window({3, 1, 0});
  window.second = second;
  window.covered = Duration::seconds(static_cast<int64_t>(span));
  for (metrics::StepWindow& step : window.steps) {
    step.count = count;
    step.failed = 1;
    step.service.record(Duration::millis(1), count);
    step.response.answered.record(Duration::millis(2), count);
  }
  return window;
}

const std::vector<Batcher::Step> kSteps{{"a", 0, 0}, {"b", 2, 0}};

TEST(Batches, a_short_run_has_a_batch_for_each_second_and_a_long_one_at_most_thirty) {
  EXPECT_EQ(Batcher(kSteps, 20, 1).batch_seconds(), 1U);
  EXPECT_EQ(Batcher(kSteps, 30, 1).batch_seconds(), 1U);
  EXPECT_EQ(Batcher(kSteps, 31, 1).batch_seconds(), 2U);
  EXPECT_EQ(Batcher(kSteps, 3'600, 10).batch_seconds(), 120U);
  EXPECT_EQ(Batcher(kSteps, 300, 10).batch_seconds(), 10U);
}

TEST(Batches, intervals_of_any_length_come_into_the_batch_of_their_time) {
  Batcher batcher(kSteps, 100, 10);
  for (uint64_t s = 0; s < 40; s += 10) batcher.add(interval(s, 10), 10);
  for (uint64_t s = 40; s < 100; ++s) batcher.add(interval(s, 1), 1);
  const Batches batches = batcher.take();
  ASSERT_EQ(batches.covered.size(), 10U);
  for (const Duration covered : batches.covered) EXPECT_EQ(covered, Duration::seconds(10));
  EXPECT_EQ(batches.of[0][0].count, 10U);
  EXPECT_EQ(batches.of[1][9].count, 100U);
  EXPECT_EQ(batches.of[2][9].count, 200U) << "all steps that are compared";
  EXPECT_EQ(batches.of[2][9].failed, 20U);
  EXPECT_EQ(batches.of[0][9].times.begin()->first, metrics::Histogram::index_of(2'000'000)) << "response";
}

TEST(Batches, dropped_iterations_are_of_all_steps_together) {
  Batcher batcher(kSteps, 1, 1);
  metrics::Window window = interval(0, 1);
  window.workflows[0].on_time = 5;
  window.workflows[0].late = 2;
  window.workflows[0].iterations = 6;
  window.workflows[0].dropped = 3;
  batcher.add(window, 1);
  const Batches batches = batcher.take();
  EXPECT_EQ(batches.of[2][0].due, 10U);
  EXPECT_EQ(batches.of[2][0].dropped, 3U) << "once, though two steps are of the workflow";
  EXPECT_EQ(batches.of[0][0].due, 0U);
}

TEST(Batches, a_rest_at_the_end_is_no_batch) {
  Batcher batcher(kSteps, 65, 1);
  for (uint64_t s = 0; s < 64; ++s) batcher.add(interval(s, 1), 1);
  metrics::Window rest = interval(64, 1);
  rest.covered = Duration::millis(3);
  batcher.add(rest, 1);
  const Batches batches = batcher.take();
  EXPECT_EQ(batches.covered.size(), 21U);
  EXPECT_EQ(batches.covered.back(), Duration::seconds(3));
}

}  // namespace
}  // namespace bellwether::results
