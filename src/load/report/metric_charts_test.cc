#include "load/report/metric_charts.h"

#include <gmock/gmock.h>

#include "load/report/reports.h"
#include "load/report/sample_run_testing.h"

namespace bellwether::report {
namespace {

using testing::HasSubstr;

// A run of so many seconds with one metric, which has points where `points` says.
ResultFile run_with(std::size_t seconds, std::string kind, std::vector<ResultMetricPoint> points) {
  ResultFile run;
  for (std::size_t t = 0; t < seconds; ++t) {
    ResultPoint point;
    point.t = static_cast<double>(t);
    point.covered_s = 1;
    run.series.push_back(point);
  }
  run.metrics.push_back({"own", std::move(kind), "", 0, {}, std::move(points)});
  return run;
}

MetricCharts made(const ResultFile& run) { return metric_charts(run, columns_of(run.series)); }

TEST(MetricCharts, each_metric_with_values_has_one_and_others_have_none) {
  const auto run = read_result(to_json(measured_run()->report));
  ASSERT_TRUE(run.has_value());
  const MetricCharts charts = made(*run);
  for (const char* title :
       {"<b>orders per second</b>", "<b>depth</b>", "<b>sold, % true</b>", "<b>price, EUR</b>", "<b>took, ms</b>"}) {
    EXPECT_THAT(charts.figures, HasSubstr(title));
  }
  EXPECT_THAT(charts.figures, testing::Not(HasSubstr("never")));
  EXPECT_EQ(charts.left_out, 0U);
}

TEST(MetricCharts, a_counter_counts_nothing_where_it_says_nothing) {
  const MetricCharts charts = made(run_with(3, "counter", {{.t = 1, .count = 6, .rate = 6}}));
  EXPECT_EQ(charts.script, "[[[0,0,0],[6,6,6],[0,0,0]]]");
}

TEST(MetricCharts, a_gauge_keeps_its_value_from_when_it_was_set) {
  const MetricCharts charts = made(run_with(4, "gauge", {{.t = 1, .value = -5, .least = -8, .greatest = 2}}));
  EXPECT_EQ(charts.script, "[[0,[-5,-8,2],[-5,-5,-5],[-5,-5,-5]]]");
  EXPECT_THAT(charts.figures, HasSubstr(">-10</text>")) << "there is room below zero";
}

TEST(MetricCharts, a_rate_and_a_trend_have_gaps_where_there_was_nothing) {
  EXPECT_EQ(
      made(run_with(3, "rate",
                    {{.t = 0, .rate = 0.25, .matches = 1, .total = 4}, {.t = 2, .rate = 1, .matches = 2, .total = 2}}))
          .script,
      "[[[25,4],0,[100,2]]]");
  const MetricCharts trend = made(
      run_with(3, "trend", {{.t = 0, .count = 9, .median = 2, .p95 = 7}, {.t = 2, .count = 1, .median = 3, .p95 = 3}}));
  EXPECT_EQ(trend.script, "[[[2,7],0,[3,3]]]");
  const std::size_t at = trend.figures.find("class=\"line dots p95\"");
  ASSERT_NE(at, std::string::npos);
  const std::string path = trend.figures.substr(at, trend.figures.find("/>", at) - at);
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 2) << "two that stand alone";
}

// Two seconds to a column.
TEST(MetricCharts, seconds_that_share_a_column_hide_neither_peak_nor_hole) {
  std::vector<ResultMetricPoint> points;
  for (std::size_t t = 0; t < 2 * kMaxColumns; ++t) {
    const bool peak = t == 5;
    if (t == 9) continue;
    points.push_back({.t = static_cast<double>(t),
                      .count = peak ? 90.0 : 10.0,
                      .rate = peak ? 90.0 : 10.0,
                      .matches = peak ? 0U : 2U,
                      .total = 2,
                      .value = static_cast<double>(t),
                      .least = peak ? -50.0 : static_cast<double>(t),
                      .greatest = peak ? 70.0 : static_cast<double>(t),
                      .median = peak ? 80.0 : 4.0,
                      .p95 = peak ? 300.0 : 8.0});
  }
  const auto column = [&](const char* kind, int wanted) {
    const std::string script = made(run_with(2 * kMaxColumns, kind, points)).script;
    std::size_t at = 1;
    for (int i = 0; i <= wanted; ++i) at = script.find('[', at + 1);
    return script.substr(at, script.find(']', at) + 1 - at);
  };
  EXPECT_EQ(column("counter", 2), "[50,10,90]");
  EXPECT_EQ(column("counter", 4), "[5,0,10]") << "one of its seconds counted nothing";
  EXPECT_EQ(column("gauge", 2), "[5,-50,70]");
  EXPECT_EQ(column("rate", 2), "[50,4]");
  EXPECT_EQ(column("trend", 2), "[80,300]");
}

TEST(MetricCharts, too_many_are_cut_and_counted) {
  ResultFile run = run_with(3, "gauge", {{.t = 0, .value = 1}});
  for (std::size_t m = 0; m < kMaxMetricCharts + 4; ++m) run.metrics.push_back(run.metrics[0]);
  run.metrics[2].series.clear();
  const MetricCharts charts = made(run);
  EXPECT_EQ(charts.left_out, 4U);
  std::size_t figures = 0;
  for (std::size_t at = 0; (at = charts.figures.find("<figure>", at)) != std::string::npos; ++at) ++figures;
  EXPECT_EQ(figures, kMaxMetricCharts);
}

}  // namespace
}  // namespace bellwether::report
