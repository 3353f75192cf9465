#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/base/prng.h"
#include "load/aggregate/totals.h"

namespace bellwether::aggregate {
namespace {

plan::Plan two_steps() {
  plan::Plan plan;
  plan.workflows.resize(1);
  plan.steps = {{.workflow = 0, .index = 0, .name = "w.a", .measured = true},
                {.workflow = 0, .index = 1, .name = "w.b", .measured = true}};
  return plan;
}

metrics::Window requests_of(const plan::Plan& plan, uint64_t second, uint64_t count, uint64_t failed, Duration took) {
  metrics::Window window(shape_of(plan));
  window.second = second;
  for (metrics::StepWindow& step : window.steps) {
    step.count = count;
    step.failed = failed;
    step.service.record(took);
    step.response.answered.record(took * 3);
  }
  return window;
}

TEST(StepSeries, each_step_has_its_counts_and_the_time_that_thresholds_judge) {
  const plan::Plan plan = two_steps();
  Totals totals(plan);
  totals.add(requests_of(plan, 0, 10, 1, Duration::micros(100)));
  totals.add(requests_of(plan, 1, 20, 2, Duration::micros(200)), Duration::millis(500));
  const StepSeriesState& series = totals.step_series();
  EXPECT_EQ(series.length, 1u);
  EXPECT_EQ(series.covered, (std::vector<Duration>{Duration::seconds(1), Duration::millis(500)}));
  ASSERT_EQ(series.figures.size(), 4u);
  EXPECT_EQ(series.figures[0].duration.p99, Duration::micros(300)) << "response time";
  EXPECT_EQ(series.figures[3].count, 20u);
  EXPECT_EQ(series.figures[3].failed, 2u);
}

TEST(StepSeries, a_longer_run_has_longer_intervals_and_loses_no_request_and_no_peak) {
  const plan::Plan plan = two_steps();
  Totals totals(plan);
  for (uint64_t second = 0; second < 1'000; ++second) {
    const bool stall = second == 777;
    totals.add(requests_of(plan, second, 5, second % 2, stall ? Duration::seconds(1) : Duration::millis(1)));
  }
  const StepSeriesState& series = totals.step_series();
  EXPECT_EQ(series.length, 16u);
  ASSERT_EQ(series.covered.size(), 63u);
  EXPECT_EQ(series.covered[0], Duration::seconds(16));
  EXPECT_EQ(series.covered[62], Duration::seconds(8));
  uint64_t count = 0;
  uint64_t failed = 0;
  for (std::size_t i = 1; i < series.figures.size(); i += 2) {
    count += series.figures[i].count;
    failed += series.figures[i].failed;
    const bool has_stall = i / 2 == 777 / 16;
    EXPECT_EQ(series.figures[i].duration.p50, has_stall ? Duration::seconds(3) : Duration::millis(3)) << i;
  }
  EXPECT_EQ(count, 5'000u);
  EXPECT_EQ(failed, 500u);
}

RC_GTEST_PROP(StepSeries, the_order_of_additions_does_not_matter, (uint64_t seed)) {
  Prng prng(seed);
  const plan::Plan plan = two_steps();
  std::vector<metrics::Window> parts;
  for (uint64_t n = 1 + prng.below(40); n > 0; --n) {
    parts.push_back(requests_of(plan, prng.below(prng.chance(0.1) ? 100'000 : 300), prng.below(9), prng.below(3),
                                Duration::micros(1 + static_cast<int64_t>(prng.below(9'000)))));
  }
  StepSeries forward(plan);
  StepSeries backward(plan);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    forward.add(parts[i], Duration::seconds(1));
    backward.add(parts[parts.size() - 1 - i], Duration::seconds(1));
  }
  RC_ASSERT(forward.state().length == backward.state().length);
  RC_ASSERT(forward.state().covered == backward.state().covered);
  RC_ASSERT(forward.state().figures == backward.state().figures);
  RC_ASSERT(forward.state().covered.size() <= kMaxStepIntervals);
}

}  // namespace
}  // namespace bellwether::aggregate
