#include <gtest/gtest.h>

#include "load/console/view.h"

namespace bellwether::console {
namespace {

Snapshot running() {
  return {.elapsed = Duration::millis(12'300),
          .planned = Duration::seconds(30),
          .state = "running",
          .vus = 50,
          .requests = 14'808,
          .failed = 3,
          .dropped = 7,
          .open_model = true,
          .rate_per_s = 1233.6,
          .p50 = Duration::micros(1200),
          .p99 = Duration::micros(4500)};
}

TEST(CiLine, says_how_the_run_stands) {
  EXPECT_EQ(
      ci_line(running()),
      "   12s   41%  running  vus 50  1,234 req/s (14,808 total)  p50 1.20ms p99 4.50ms  failed 0.02%  dropped 7");
}

TEST(CiLine, leaves_out_what_is_not_known) {
  Snapshot now = running();
  now.planned = Duration::zero();
  now.p50 = now.p99 = Duration::zero();
  now.open_model = false;
  now.requests = now.failed = 0;
  now.rate_per_s = 0;
  now.state = "stopping";
  EXPECT_EQ(ci_line(now), "   12s  stopping  vus 50  0 req/s (0 total)  failed 0.00%");
}

TEST(CiLine, a_request_that_was_not_sent_has_no_time) {
  Snapshot now = running();
  now.p50 = Duration::zero();
  EXPECT_NE(ci_line(now).find("  p50 - p99 4.50ms  "), std::string::npos) << ci_line(now);
}

TEST(CiLine, names_the_most_frequent_failures) {
  Snapshot now = running();
  now.failures = {{"connection refused", 2}, {"status 503", 1}};
  EXPECT_NE(ci_line(now).find("  failed 0.02% (connection refused 2, status 503 1)  dropped 7"), std::string::npos);
  now.failures.push_back({"status 500", 1});
  EXPECT_NE(ci_line(now).find("status 503 1, …)  dropped 7"), std::string::npos) << ci_line(now);
}

TEST(CiLine, progress_never_passes_the_whole) {
  Snapshot now = running();
  now.elapsed = Duration::seconds(45);
  EXPECT_NE(ci_line(now).find("100%"), std::string::npos);
}

TEST(CiSnapshot, takes_rates_since_the_line_before_and_percentiles_of_the_last_second) {
  plan::Plan plan;
  plan.workflows.resize(1);
  plan.workflows[0].executor = plan::ArrivalRate{};
  plan.steps = {{.workflow = 0, .index = 0, .name = "w.s", .measured = true}};
  aggregate::Totals totals(plan);
  Snapshot before;
  for (uint64_t second = 0; second < 4; ++second) {
    metrics::Window window({1, 1, 0});
    window.second = second;
    window.steps[0].count = 100 * (second + 1);
    window.steps[0].failed = 1;
    window.steps[0].response.answered.record(Duration::millis(10 * static_cast<int64_t>(second + 1)));
    window.workflows[0].vus_active = 5;
    window.workflows[0].dropped = 2;
    totals.add(window);
    if (second == 1) before = snapshot_of(totals, {}, Duration::seconds(8), "running");
  }
  EXPECT_DOUBLE_EQ(before.rate_per_s, 150);
  const Snapshot now = snapshot_of(totals, before, Duration::seconds(8), "running");
  EXPECT_DOUBLE_EQ(now.rate_per_s, 350);
  EXPECT_EQ(now.requests, 1000u);
  EXPECT_EQ(now.failed, 4u);
  EXPECT_EQ(now.dropped, 8u);
  EXPECT_EQ(now.vus, 5);
  EXPECT_TRUE(now.open_model);
  EXPECT_EQ(now.p50, Duration::millis(40));
  EXPECT_DOUBLE_EQ(snapshot_of(totals, now, Duration::zero(), "stopping").rate_per_s, 0);
}

}  // namespace
}  // namespace bellwether::console
