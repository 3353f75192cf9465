
#include <cmath>
#include <gmock/gmock.h>

#include "load/report/chart.h"

namespace bellwether::report {
namespace {

using testing::HasSubstr;

ResultFile long_run(std::size_t seconds) {
  ResultFile run;
  for (std::size_t t = 0; t < seconds; ++t) {
    ResultPoint point;
    point.t = static_cast<double>(t);
    point.covered_s = 1;
    point.requests = 100;
    point.rate_per_s = 100;
    point.vus = 5;
    point.response = PointTimes{1, 2, 3};
    run.series.push_back(point);
  }
  return run;
}

TEST(Charts, a_short_run_is_shown_as_it_was) {
  const auto columns = columns_of(long_run(kMaxColumns).series);
  ASSERT_EQ(columns.size(), kMaxColumns);
  EXPECT_DOUBLE_EQ(columns[7].from, 7);
  EXPECT_DOUBLE_EQ(columns[7].to, 8);
}

TEST(Charts, no_peak_and_no_hole_of_a_long_run_is_lost) {
  ResultFile run = long_run(3'600);
  run.series[1'000].response->p99 = 900;
  run.series[1'001].rate_per_s = 7;
  run.series[1'001].requests = 7;
  run.series[1'002].failed = 60;
  run.series[1'003].rate_per_s = 400;
  run.series[1'003].requests = 400;
  run.series[1'004].vus = 77;
  const auto columns = columns_of(run.series);
  ASSERT_LE(columns.size(), kMaxColumns);
  double least = 1e9;
  double most = 0;
  double failed = 0;
  double longest = 0;
  double requests = 0;
  uint64_t vus = 0;
  for (const Column& column : columns) {
    least = std::min(least, column.rate_least);
    most = std::max(most, column.rate_most);
    failed = std::max(failed, column.failed_most);
    longest = std::max(longest, column.longest.p99);
    vus = std::max(vus, column.vus);
    requests += column.rate * (column.to - column.from);
  }
  EXPECT_DOUBLE_EQ(least, 7);
  EXPECT_DOUBLE_EQ(most, 400);
  EXPECT_DOUBLE_EQ(failed, 60);
  EXPECT_DOUBLE_EQ(longest, 900);
  EXPECT_EQ(vus, 77U);
  EXPECT_NEAR(requests, 3'598 * 100 + 407, 1);
  EXPECT_DOUBLE_EQ(columns.front().from, 0);
  EXPECT_DOUBLE_EQ(columns.back().to, 3'600);
}

TEST(Charts, the_last_moment_of_a_run_is_no_collapse) {
  ResultFile run = long_run(5);
  ResultPoint rest;
  rest.t = 5;
  rest.covered_s = 0.001;
  rest.requests = 3;
  rest.rate_per_s = 3'000;
  run.series.push_back(rest);
  const auto columns = columns_of(run.series);
  ASSERT_EQ(columns.size(), 5U);
  EXPECT_NEAR(columns[4].rate, 103, 0.2);
  EXPECT_DOUBLE_EQ(columns[4].rate_most, 100);
}

// Its only point is shorter than a rest, and still within the axis.
TEST(Charts, a_run_of_one_request_has_a_rate_and_a_time_axis) {
  ResultFile run;
  ResultPoint point;
  point.covered_s = 0.002;
  point.requests = 1;
  point.rate_per_s = 500;
  run.series.push_back(point);
  const auto columns = columns_of(run.series);
  ASSERT_EQ(columns.size(), 1U);
  EXPECT_DOUBLE_EQ(columns[0].rate_least, 500);
  EXPECT_DOUBLE_EQ(columns[0].rate_most, 500);
  const std::string svg = charts(run, columns);
  EXPECT_THAT(svg, testing::Not(HasSubstr("min to max")));
  EXPECT_THAT(svg, HasSubstr(">0.002s</text>"));
}

TEST(Charts, a_line_has_a_gap_where_nothing_was_measured) {
  ResultFile run = long_run(20);
  for (std::size_t t = 8; t < 12; ++t) run.series[t].response.reset();
  const std::string svg = charts(run, columns_of(run.series));
  const std::size_t at = svg.find("class=\"line p99\" d=\"");
  ASSERT_NE(at, std::string::npos);
  const std::string path = svg.substr(at, svg.find("/>", at) - at);
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 2);
}

TEST(Charts, what_was_lost_and_what_happened_is_marked_where_it_was) {
  ResultFile run = long_run(20);
  run.lost.push_back({5, 10, 0.5, "worker <w1> died"});
  run.events.push_back({10, "worker_lost", "\"w1\""});
  const std::string svg = charts(run, columns_of(run.series));
  EXPECT_THAT(svg, HasSubstr("class=\"lost\" x=\"190.5\" width=\"132.5\""));
  EXPECT_THAT(svg, HasSubstr("lost: worker &lt;w1&gt; died"));
  EXPECT_THAT(svg, HasSubstr("<title>worker_lost: &quot;w1&quot;</title><line x1=\"323\""));
  EXPECT_THAT(svg, testing::Not(HasSubstr("<w1>")));
}

TEST(Charts, numbers_of_events_that_would_overlap_are_one_range) {
  ResultFile run = long_run(20);
  for (const double t : {5.0, 5.1, 5.2, 15.0}) run.events.push_back({t, "worker_lost", ""});
  const std::string svg = charts(run, columns_of(run.series));
  EXPECT_THAT(svg, HasSubstr(">1–3</text>"));
  EXPECT_THAT(svg, HasSubstr("/></g>")) << "the second has a line and no number";
  EXPECT_THAT(svg, HasSubstr(">4</text></g>"));
}

TEST(Charts, ticks_are_round_numbers) {
  EXPECT_DOUBLE_EQ(tick_for(97, 4), 50);
  EXPECT_DOUBLE_EQ(tick_for(0.7, 4), 0.2);
  EXPECT_DOUBLE_EQ(tick_for(4'000, 4), 1'000);
  EXPECT_DOUBLE_EQ(tick_for(0, 4), 1);
}

TEST(Charts, a_logarithmic_axis_has_room_for_both_ends_and_marks_between_them) {
  const Axis narrow = log_axis(0.6, 40);
  EXPECT_DOUBLE_EQ(narrow.least, 0.5);
  EXPECT_DOUBLE_EQ(narrow.most, 50);
  EXPECT_EQ(narrow.ticks.size(), 7U);
  EXPECT_DOUBLE_EQ(narrow.part(0.5), 0);
  EXPECT_NEAR(narrow.part(std::sqrt(0.5 * 50)), 0.5, 1e-9);
  EXPECT_DOUBLE_EQ(narrow.part(0), 0) << "no logarithm, and the lower end";
  const Axis wide = log_axis(0.02, 3'000);
  ASSERT_EQ(wide.ticks.size(), 5U) << "powers of ten";
  EXPECT_DOUBLE_EQ(wide.ticks[0], 0.1);
  const Axis one = log_axis(10, 10);
  EXPECT_LT(one.least, one.most);
}

TEST(Charts, a_stall_does_not_flatten_the_other_times) {
  ResultFile run = long_run(20);
  EXPECT_THAT(charts(run, columns_of(run.series)), HasSubstr("<b>Response time, ms</b>"));
  run.series[7].response = PointTimes{1, 2, 900};
  EXPECT_THAT(charts(run, columns_of(run.series)), HasSubstr("<b>Response time, ms, log scale</b>"));
}

TEST(Charts, the_times_are_those_that_thresholds_judge) {
  ResultFile run = long_run(3);
  for (ResultPoint& point : run.series) point.service = PointTimes{0.5, 0.75, 1};
  EXPECT_DOUBLE_EQ(columns_of(run.series)[0].longest.p99, 3);
}

TEST(Charts, a_step_has_charts_of_its_own_columns) {
  ResultFile run = long_run(20);
  ResultStep step;
  step.name = "shop.<pay>";
  step.series = long_run(4).series;
  const std::string svg = step_charts(run, step, columns_of(step.series), 3);
  EXPECT_THAT(svg, HasSubstr("<b>shop.&lt;pay&gt;: response time, ms</b>"));
  EXPECT_THAT(svg, HasSubstr("<b>shop.&lt;pay&gt;: requests per second</b>"));
  EXPECT_THAT(svg, HasSubstr("data-kind=\"step\" data-of=\"3\" data-length=\"4000\""));
}

// A day: minutes, then intervals of ten seconds, then seconds.
TEST(Charts, intervals_of_different_lengths_stand_where_they_belong) {
  ResultFile run;
  const auto intervals = [&run](double from, double to, double length) {
    for (double t = from; t < to; t += length) {
      ResultPoint point;
      point.t = t;
      point.covered_s = length;
      point.requests = static_cast<uint64_t>(50 * length);
      point.rate_per_s = 50;
      run.series.push_back(point);
    }
  };
  intervals(0, 81'000, 60);
  intervals(81'000, 85'000, 10);
  intervals(85'000, 86'000, 1);
  const auto columns = columns_of(run.series);
  ASSERT_LE(columns.size(), kMaxColumns);
  ASSERT_GT(columns.size(), kMaxColumns / 2);
  double end = 0;
  for (const Column& column : columns) {
    EXPECT_DOUBLE_EQ(column.from, end) << "no gap and no overlap";
    EXPECT_DOUBLE_EQ(column.rate, 50);
    EXPECT_LE(column.to - column.from, 240) << "the end of the run is no wider than its beginning";
    if (column.to < 86'000) {
      EXPECT_GE(column.to - column.from, 120);
    }
    end = column.to;
  }
  EXPECT_DOUBLE_EQ(end, 86'000);
}

TEST(Charts, no_series_makes_no_chart) {
  const ResultFile run;
  EXPECT_TRUE(columns_of(run.series).empty());
  EXPECT_TRUE(charts(run, {}).empty());
}

}  // namespace
}  // namespace bellwether::report
