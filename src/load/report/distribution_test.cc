#include <gmock/gmock.h>
#include <sstream>

#include "load/report/metric_charts.h"
#include "load/report/reports.h"
#include "load/report/sample_run_testing.h"

namespace bellwether::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// The places of a path that begins after `before`, as pairs of a command and its numbers.
std::string path_after(const std::string& svg, const std::string& before, std::size_t plot) {
  std::size_t at = svg.find("<svg");
  for (std::size_t i = 0; i < plot; ++i) at = svg.find("<svg", at + 1);
  at = svg.find(before, at);
  if (at == std::string::npos) return {};
  at += before.size();
  return svg.substr(at, svg.find('"', at) - at);
}

ResultFile with_times(std::initializer_list<std::pair<int64_t, uint64_t>> millis) {
  ResultFile run;
  run.steps.resize(1);
  run.steps[0].due_times = false;
  for (const auto& [value, count] : millis) run.steps[0].response.answered.record(Duration::millis(value), count);
  return run;
}

TEST(Distribution, response_and_service_times_are_two_lines_of_both_plots) {
  const auto run = read_result(to_json(open_run()->report));
  ASSERT_TRUE(run.has_value());
  const std::string plots = distribution_plots(*run);
  for (const char* title : {"Fraction of requests, %, by time, ms, log scale", "Time, ms, by percentile, log scales"}) {
    EXPECT_THAT(plots, HasSubstr(std::string("<b>") + title +
                                 "</b><span class=\"key p95\">response time</span>"
                                 "<span class=\"key rate\">service time</span>"));
  }
  for (const std::size_t plot : {0U, 1U}) {
    EXPECT_NE(path_after(plots, "class=\"line p95\" d=\"", plot), path_after(plots, "class=\"line rate\" d=\"", plot));
  }
  EXPECT_THAT(plots, HasSubstr(">p99.9</text>"));
}

TEST(Distribution, users_without_a_pace_have_response_times_only) {
  const auto run = read_result(to_json(closed_run()->report));
  ASSERT_TRUE(run.has_value());
  EXPECT_THAT(distribution_plots(*run), Not(HasSubstr("service time")));
}

// From 1 to 100 ms: the tick of 10 ms is in the middle of the axis.
TEST(Distribution, a_bar_stands_at_its_time_and_is_as_high_as_its_share) {
  const std::string plots = distribution_plots(with_times({{1, 50}, {11, 25}, {100, 25}}));
  const std::string path = path_after(plots, "class=\"line p95\" d=\"", 0);
  EXPECT_THAT(path, testing::StartsWith("M58 166V37.7H66.8V166")) << "50 % of an axis to 60 %, in the first of 60 bars";
  EXPECT_THAT(path, HasSubstr("V101.8H340.7V166")) << "half as high, right of the middle";
  EXPECT_THAT(path, testing::EndsWith("V101.8H588V166"));
}

TEST(Distribution, percentiles_rise_from_the_least_to_the_most) {
  const std::string path =
      path_after(distribution_plots(with_times({{1, 900}, {10, 90}, {100, 10}})), "class=\"line p95\" d=\"", 1);
  std::istringstream in(path);
  double last = 1e9;
  double y = 0;
  std::size_t points = 0;
  for (char command = 0; in >> command >> y >> y; ++points) {
    EXPECT_LE(y, last) << "up is less";
    last = y;
  }
  EXPECT_EQ(points, 81U);
  EXPECT_THAT(path, testing::StartsWith("M58 166L"));
  EXPECT_THAT(path, HasSubstr(" 89L")) << "10 ms, half way up";
  EXPECT_THAT(path, testing::EndsWith("L588 12"));
}

TEST(Distribution, a_single_time_and_none_at_all_are_drawn_without_harm) {
  EXPECT_THAT(distribution_plots(with_times({{5, 1}})), Not(HasSubstr("nan")));
  EXPECT_THAT(distribution_plots(with_times({{0, 3}})), Not(HasSubstr("nan")));
  EXPECT_EQ(distribution_plots(with_times({})), "");
  EXPECT_EQ(distribution_plots(ResultFile{}), "");
}

}  // namespace
}  // namespace bellwether::report
