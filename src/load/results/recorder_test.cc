#include "load/results/recorder.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load/aggregate/totals.h"
#include "load/report/result_file.h"
#include "load/results/results_testing.h"

namespace bellwether::results {
namespace {

TEST(Recorder, a_run_is_in_the_store_when_it_has_ended) {
  const Folder folder;
  Recorder recorder(folder / "results.db", "aa11", sample_plan(), WallTime{1}, 1);
  for (uint64_t s = 0; s < 100; ++s) recorder.second(sample_second(s), Duration::seconds(1));
  const Recorder::Outcome outcome = recorder.end("{}", "pass", 0, {});
  EXPECT_EQ(outcome.problem, "");
  auto store = Store::open(folder / "results.db", Store::Use::kRead);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const auto run = store->find("last");
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->state, State::kEnded);
  EXPECT_EQ(run->figures.requests, 2'000U);
  EXPECT_EQ(run->figures.failed, 100U);
  EXPECT_EQ(run->figures.elapsed, Duration::seconds(100));
}

// Longer than seconds stay as they were, so that what was written is read again, and then dead.
TEST(Recorder, the_scenarios_own_metrics_are_kept_of_a_long_run_whose_process_died) {
  const Folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    plan::Plan plan = sample_plan();
    plan.metrics = {{"orders", plan::MetricKind::kCounter, ""}, {"price", plan::MetricKind::kTrend, "EUR"}};
    plan.series = {{0, 0}, {1, 1}};
    {
      Recorder recorder(folder / "results.db", "dead", plan, WallTime{1}, 1);
      for (uint64_t s = 0; s < 100; ++s) {
        metrics::Window window(aggregate::shape_of(plan));
        window.second = s;
        window.series[0].add(2);
        window.series[1].record(static_cast<double>(s % 10), 1e3);
        recorder.second(window, Duration::seconds(1));
      }
    }
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  auto store = Store::open(folder / "results.db", Store::Use::kWrite);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const auto run = store->find("last");
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->state, State::kAborted);
  EXPECT_EQ(run->figures.elapsed, Duration::seconds(100)) << "nothing stopped it before";
  const auto document = store->document(*run);
  ASSERT_TRUE(document.has_value()) << document.error().message;
  const auto result = report::read_result(*document);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  ASSERT_EQ(result->metrics.size(), 2U);
  double orders = 0;
  for (const report::ResultMetricPoint& point : result->metrics[0].series) orders += point.count;
  EXPECT_EQ(orders, 200);
  EXPECT_EQ(result->metrics[0].series[0].count, 20) << "of ten seconds";
  EXPECT_NEAR(result->metrics[1].series[0].p95, 9, 0.01);
  EXPECT_NEAR(result->metrics[1].series[0].median, 4, 0.01);
}

// The store does not keep the times that thresholds select by response.
TEST(Recorder, a_run_whose_thresholds_select_by_status_is_folded_and_read) {
  const Folder folder;
  plan::Plan plan = sample_plan();
  plan.watches = {{0, {200, {}}}};
  Recorder recorder(folder / "results.db", "aa11", plan, WallTime{1}, 1);
  for (uint64_t s = 0; s < 100; ++s) {
    metrics::Window window(aggregate::shape_of(plan));
    window.second = s;
    window.steps[0].count = 1;
    window.watches[0].record(Duration::millis(1));
    recorder.second(window, Duration::seconds(1));
  }
  EXPECT_EQ(recorder.end("{}", "pass", 0, {}).problem, "");
  auto store = Store::open(folder / "results.db", Store::Use::kRead);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  const auto run = store->find("last");
  const auto kept = store->plan_of(*run);
  ASSERT_TRUE(kept.has_value()) << kept.error().message;
  uint64_t requests = 0;
  const auto add = [&](const metrics::Window& window, uint64_t) { requests += window.steps[0].count; };
  const Status read = store->each_interval(*run, *kept, add);
  EXPECT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(requests, 100U);
}

TEST(Recorder, trouble_with_the_store_is_told_at_the_end_and_nothing_else) {
  const Folder folder;
  std::ofstream(folder / "file") << "no folder";
  Recorder recorder(folder / "file/results.db", "aa11", sample_plan(), WallTime{1}, 1);
  for (uint64_t s = 0; s < 5; ++s) recorder.second(sample_second(s), Duration::seconds(1));
  EXPECT_NE(recorder.end("{}", "pass", 0, {}).problem.find("file"), std::string::npos);
}

TEST(Recorder, a_second_that_comes_out_of_turn_is_left_out_and_told) {
  const Folder folder;
  Recorder recorder(folder / "results.db", "aa11", sample_plan(), WallTime{1}, 1);
  for (const uint64_t s : {0U, 1U, 1U, 0U, 2U}) recorder.second(sample_second(s), Duration::seconds(1));
  EXPECT_TRUE(recorder.end("{}", "pass", 0, {}).problem.starts_with("2 seconds are missing"));
  auto store = Store::open(folder / "results.db", Store::Use::kRead);
  ASSERT_TRUE(store.has_value()) << store.error().message;
  EXPECT_EQ(store->find("last")->figures.requests, 60U);
}

TEST(Recorder, old_runs_are_counted_when_they_go) {
  const Folder folder;
  for (const char* id : {"a", "b", "c"}) {
    Recorder recorder(folder / "results.db", id, sample_plan(), WallTime{id[0]}, 1);
    EXPECT_EQ(recorder.end("{}", "pass", 0, {.runs = 2}).removed, id[0] == 'c' ? 1U : 0U);
  }
}

}  // namespace
}  // namespace bellwether::results
