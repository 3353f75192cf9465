#include <gmock/gmock.h>

#include "load/report/reports.h"
#include "load/report/sample_run_testing.h"

namespace bellwether::report {
namespace {

using testing::HasSubstr;
using testing::Not;

ResultFile read(const SampleRun& sample) {
  auto run = read_result(to_json(sample.report));
  EXPECT_TRUE(run.has_value());
  return std::move(*run);
}

TEST(Html, begins_with_the_verdict_and_has_every_table) {
  const std::string page = to_html(read(*open_run()));
  EXPECT_THAT(page, HasSubstr("<div class=\"verdict fail\"><b>fail</b> (exit code 99)"));
  for (const char* heading :
       {"Over time", "Thresholds", "Steps", "Checks", "Answers and errors", "Workflows", "Events"}) {
    EXPECT_THAT(page, HasSubstr(std::string("<h2>") + heading + "</h2>"));
  }
  EXPECT_THAT(page, HasSubstr("✗ no samples"));
  EXPECT_THAT(page, HasSubstr("<td>browse.pay</td>"));
  EXPECT_THAT(page, HasSubstr("connect_refused"));
}

TEST(Html, what_was_lost_and_who_lost_it_are_told) {
  const std::string page = to_html(read(*spread_run()));
  EXPECT_THAT(page, HasSubstr("worker w2 died"));
  EXPECT_THAT(page, HasSubstr("<td class=\"text bad\">lost</td>"));
  EXPECT_THAT(page, HasSubstr("Red: figures are missing."));
}

TEST(Html, the_scenarios_own_metrics_have_charts_of_their_own) {
  const std::string page = to_html(read(*measured_run()));
  EXPECT_THAT(page, HasSubstr("<h2>Own metrics over time</h2>"));
  EXPECT_THAT(page, HasSubstr("<b>orders per second</b>"));
  EXPECT_THAT(page, HasSubstr("data-kind=\"share\" data-metric=\"2\""));
  EXPECT_THAT(page, HasSubstr("],M=[[["));
  EXPECT_THAT(page, Not(HasSubstr("more are in the result file")));
  const std::string without = to_html(read(*open_run()));
  EXPECT_THAT(without, Not(HasSubstr("Own metrics")));
  EXPECT_THAT(without, HasSubstr("],M=[];"));
}

TEST(Html, asks_nobody_for_anything) {
  const std::string page = to_html(read(*spread_run()));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* way : {"src=", "href=", "url(", "@import", "fetch(", "XMLHttp"})
    EXPECT_THAT(page, Not(HasSubstr(way)));
}

TEST(Html, nothing_from_outside_becomes_markup_or_script) {
  ResultFile run = read(*open_run());
  const std::string evil = "</title></script><script>alert('x')</script><img src=x onerror=\"y\">";
  run.id = run.scenario = run.started_at = run.verdict = run.reason = evil;
  run.saturated = true;
  run.saturation = run.remedy = evil;
  for (ResultStep& step : run.steps) {
    step.name = evil;
    step.status.emplace_back(evil, 1);
    step.errors.emplace_back(evil, 1);
  }
  for (ResultWorkflow& one : run.workflows) one.name = one.status = one.skipped_because = evil;
  for (ResultCheck& one : run.checks) one.name = one.step = evil;
  for (ResultThreshold& one : run.thresholds) one.metric = one.expression = evil;
  for (ResultEvent& one : run.events) one.kind = one.detail = evil;
  run.metrics.push_back({evil, "gauge", evil, 0, {}, {{.t = 0, .value = 1, .least = 1, .greatest = 1}}});
  run.lost.push_back({0, 1, 1, evil});
  run.workers.push_back({evil, 1, evil});
  const std::string page = to_html(run);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("onerror=\"")));
}

TEST(Html, an_hour_with_fifty_steps_and_a_hundred_metrics_stays_below_three_megabytes) {
  const ResultFile small = read(*open_run());
  ResultFile run = read(*open_run());
  run.steps.clear();
  run.series.clear();
  for (int s = 0; s < 50; ++s) {
    ResultStep step;
    step.name = "workflow.step number " + std::to_string(s);
    step.response.merge(small.steps[0].response);
    step.service.merge(small.steps[0].service);
    for (int status = 200; status < 220; ++status) step.status.emplace_back(std::to_string(status), 1);
    run.steps.push_back(std::move(step));
  }
  for (int t = 0; t < 3'600; ++t) {
    ResultPoint point = small.series[0];
    point.t = t;
    point.rate_per_s = 12'345.678 + t;
    run.series.push_back(point);
  }
  for (const std::string kind : {"counter", "gauge", "rate", "trend"}) {
    for (int m = 0; m < 25; ++m) {
      ResultMetric metric{kind + std::to_string(m), kind, "unit", 0, {}, {}};
      for (int t = 0; t < 3'600; ++t) {
        const double value = 12'345.678 + t;
        metric.series.push_back(
            {static_cast<double>(t), value, value, 5, 10, value, value - 1, value + 1, value, value});
      }
      run.metrics.push_back(std::move(metric));
    }
  }
  const std::string page = to_html(run);
  EXPECT_LT(page.size(), std::size_t{3} << 20);
  EXPECT_THAT(page, HasSubstr("The first 24 metrics are shown; 76 more are in the result file and in the csv report."));
}

}  // namespace
}  // namespace bellwether::report
