#include "load/metrics/window.h"

#include <gtest/gtest.h>

namespace bellwether::metrics {
namespace {

void fill(Window& window, uint32_t k) {
  StepWindow& step = window.steps[1];
  step.count += k;
  step.failed += 2 * k;
  step.left_out += 6 * k;
  step.repeated += 7 * k;
  step.bytes_sent += 3 * k;
  step.bytes_received += 4 * k;
  step.service.record(Duration::millis(k));
  step.response.answered.record(Duration::millis(2 * k));
  step.response.unanswered.record(Duration::millis(3 * k));
  step.response.unfinished.record(Duration::millis(4 * k));
  for (Histogram& phase : step.phases) phase.record(Duration::micros(k));
  step.status.add(200, k);
  step.errors[static_cast<std::size_t>(http1::ErrorKind::kReset)] += k;
  WorkflowWindow& workflow = window.workflows[0];
  workflow.iterations += k;
  workflow.interrupted += 2 * k;
  workflow.scheduled += 3 * k;
  workflow.on_time += 4 * k;
  workflow.late += 5 * k;
  workflow.dropped += 6 * k;
  workflow.vus_active += 7 * k;
  workflow.vus_allocated += 8 * k;
  workflow.ran = std::max(workflow.ran, Duration::millis(k));
  workflow.begun += 9 * k;
  workflow.taken = std::max<uint64_t>(workflow.taken, 10 * k);
  workflow.pace = std::max<uint64_t>(workflow.pace, 11 * k);
  workflow.iteration.record(Duration::seconds(k));
  workflow.start_lag.record(Duration::micros(k));
  window.checks[2].passes += k;
  window.checks[2].fails += 2 * k;
  window.loop_lag.record(Duration::micros(10 * k));
  window.cpu += Duration::millis(k);
}

void expect_equal(const Window& a, const Window& b) {
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    const StepWindow& x = a.steps[i];
    const StepWindow& y = b.steps[i];
    EXPECT_EQ(x.count, y.count);
    EXPECT_EQ(x.failed, y.failed);
    EXPECT_EQ(x.left_out, y.left_out);
    EXPECT_EQ(x.repeated, y.repeated);
    EXPECT_EQ(x.bytes_sent, y.bytes_sent);
    EXPECT_EQ(x.bytes_received, y.bytes_received);
    EXPECT_TRUE(x.service == y.service);
    EXPECT_TRUE(x.response == y.response);
    EXPECT_TRUE(x.phases == y.phases);
    EXPECT_EQ(x.status, y.status);
    EXPECT_EQ(x.errors, y.errors);
  }
  for (std::size_t i = 0; i < a.workflows.size(); ++i) {
    const WorkflowWindow& x = a.workflows[i];
    const WorkflowWindow& y = b.workflows[i];
    EXPECT_EQ(x.iterations, y.iterations);
    EXPECT_EQ(x.interrupted, y.interrupted);
    EXPECT_EQ(x.scheduled, y.scheduled);
    EXPECT_EQ(x.on_time, y.on_time);
    EXPECT_EQ(x.late, y.late);
    EXPECT_EQ(x.dropped, y.dropped);
    EXPECT_EQ(x.vus_active, y.vus_active);
    EXPECT_EQ(x.vus_allocated, y.vus_allocated);
    EXPECT_EQ(x.ran, y.ran);
    EXPECT_EQ(x.begun, y.begun);
    EXPECT_EQ(x.taken, y.taken);
    EXPECT_EQ(x.pace, y.pace);
    EXPECT_TRUE(x.iteration == y.iteration);
    EXPECT_TRUE(x.start_lag == y.start_lag);
  }
  for (std::size_t i = 0; i < a.checks.size(); ++i) {
    EXPECT_EQ(a.checks[i].passes, b.checks[i].passes);
    EXPECT_EQ(a.checks[i].fails, b.checks[i].fails);
  }
  EXPECT_TRUE(a.loop_lag == b.loop_lag);
  EXPECT_EQ(a.cpu, b.cpu);
}

TEST(Window, merging_equals_filling_one_window_with_both) {
  Window a({2, 1, 3});
  Window b({2, 1, 3});
  Window both({2, 1, 3});
  fill(a, 3);
  fill(b, 11);
  fill(both, 3);
  fill(both, 11);
  Window merged({2, 1, 3});
  merged.merge(a);
  merged.merge(b);
  expect_equal(merged, both);
}

TEST(Window, one_takes_the_place_of_another_with_all_its_memory) {
  Window kept({2, 1, 3});
  fill(kept, 3);
  {
    Window other({2, 1, 3});
    fill(other, 7);
    kept = std::move(other);
  }
  Window same({2, 1, 3});
  fill(same, 7);
  expect_equal(kept, same);
  fill(kept, 11);
  fill(same, 11);
  expect_equal(kept, same);
}

TEST(Window, clearing_makes_it_as_new) {
  Window used({2, 1, 3});
  fill(used, 3);
  used.second = 9;
  used.clear();
  expect_equal(used, Window({2, 1, 3}));
  EXPECT_EQ(used.second, 0u);
}

TEST(Window, selected_responses_merge_and_clear) {
  const Shape shape{1, 1, 0, 0, 2};
  Window a(shape);
  Window b(shape);
  a.watches[0].record(Duration::millis(1));
  b.watches[0].record(Duration::millis(2));
  b.watches[1].record(Duration::millis(3));
  a.merge(b);
  EXPECT_EQ(a.watches[0].count(), 2u);
  EXPECT_EQ(a.watches[1].max(), Duration::millis(3));
  a.clear();
  EXPECT_TRUE(a.watches[0].empty() && a.watches[1].empty());
}

TEST(WindowDeathTest, windows_of_different_plans_are_not_merged) {
  Window a({2, 1, 3});
  EXPECT_DEATH(a.merge(Window({1, 1, 3})), "one plan");
}

TEST(WindowDeathTest, none_is_merged_with_itself) {
  Window a({1, 1, 3});
  EXPECT_DEATH(a.merge(a), "with itself");
  EXPECT_DEATH(a.steps[0].merge(a.steps[0]), "with itself");
  EXPECT_DEATH(a.workflows[0].merge(a.workflows[0]), "with itself");
}

}  // namespace
}  // namespace bellwether::metrics
