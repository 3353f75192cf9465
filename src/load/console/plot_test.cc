#include "load/console/plot.h"

#include <gtest/gtest.h>

namespace bellwether::console {
namespace {

using aggregate::Percentiles;

Percentiles at_millis(int64_t p50, int64_t p95, int64_t p99) {
  return {Duration::millis(p50), Duration::millis(p95), Duration::millis(p99)};
}

// A point for each second from the first on.
std::vector<PlotPoint> seconds_of(const std::vector<Percentiles>& times) {
  std::vector<PlotPoint> points;
  for (const Percentiles& one : times) {
    points.push_back({Duration::seconds(static_cast<int64_t>(points.size())), Duration::seconds(1), one});
  }
  return points;
}

Scale plotted(Grid& grid, const std::vector<PlotPoint>& points, int64_t from, int64_t to, bool utf8 = false) {
  return draw_plot(grid, {0, 0, grid.rows(), grid.columns()}, points, Duration::seconds(from), Duration::seconds(to),
                   utf8);
}

TEST(Scale, ends_with_the_next_round_number) {
  const auto high = [](Duration highest) {
    const std::vector<Percentiles> points{{highest, highest, highest}};
    return scale_for(points).high;
  };
  EXPECT_EQ(high(Duration::zero()), Duration::micros(1));
  EXPECT_EQ(high(Duration::micros(1)), Duration::micros(1));
  EXPECT_EQ(high(Duration::micros(3)), Duration::micros(5));
  EXPECT_EQ(high(Duration::micros(1001)), Duration::millis(2));
  EXPECT_EQ(high(Duration::millis(5)), Duration::millis(5));
  EXPECT_EQ(high(Duration::seconds(7)), Duration::seconds(10));
}

TEST(Scale, is_logarithmic_where_a_linear_one_would_flatten_the_usual_times) {
  std::vector<Percentiles> points(20, at_millis(3, 5, 9));
  EXPECT_EQ(scale_for(points), (Scale{Duration::zero(), Duration::millis(10)}));
  points[7] = at_millis(3, 900, 2000);
  EXPECT_EQ(scale_for(points), (Scale{Duration::millis(2), Duration::seconds(2)}));
  EXPECT_FALSE(scale_for({}).logarithmic());
}

TEST(Plot, of_level_lines_has_each_at_its_height) {
  Grid grid(18, 6);
  plotted(grid, seconds_of(std::vector<Percentiles>(10, at_millis(2, 6, 10))), 0, 10);
  EXPECT_EQ(grid.line(0), " 10.0ms|**********");
  EXPECT_EQ(grid.line(1), "       |");
  EXPECT_EQ(grid.line(2), " 5.00ms|++++++++++");
  EXPECT_EQ(grid.line(3), "       |..........");
  EXPECT_EQ(grid.line(4), "      0|");
}

TEST(Plot, spans_the_time_it_is_given_and_fills_from_the_left) {
  Grid grid(28, 3);
  plotted(grid, seconds_of({at_millis(10, 10, 10), at_millis(10, 10, 10)}), 0, 10);
  EXPECT_EQ(grid.line(0), " 10.0ms|....");
}

TEST(Plot, has_a_time_axis_where_there_are_rows_for_it) {
  Grid grid(68, 4);
  plotted(grid, {}, 0, 300);
  EXPECT_EQ(grid.line(3), "        0:00      1:00        2:00        3:00        4:00      5:00");
  Grid later(48, 4);
  plotted(later, {}, 100, 180);
  EXPECT_EQ(later.line(3), "                2:00           2:30         3:00");
  Grid low(48, 3);
  plotted(low, {}, 0, 300);
  EXPECT_EQ(low.line(2), "       |");
}

TEST(Plot, joins_jumps) {
  Grid grid(12, 3);
  plotted(grid, seconds_of({at_millis(1, 1, 1), at_millis(1, 1, 1), at_millis(1, 1, 10)}), 0, 4);
  EXPECT_EQ(grid.line(0), " 10.0ms|  *");
  EXPECT_EQ(grid.line(1), "       |  *");
  EXPECT_EQ(grid.line(2), "      0|...");
}

TEST(Plot, points_that_share_a_column_show_the_worst) {
  Grid grid(12, 3);
  std::vector<Percentiles> times(8, at_millis(9, 9, 9));
  times[3] = at_millis(9, 9, 1);
  times[5] = at_millis(10, 10, 10);
  plotted(grid, seconds_of(times), 0, 8);
  EXPECT_EQ(grid.line(0), " 10.0ms|....") << "nine of ten is the highest row, too";
  times[5] = at_millis(9, 9, 50);
  Grid stall(12, 3);
  plotted(stall, seconds_of(times), 0, 8);
  EXPECT_EQ(stall.line(0), " 50.0ms|  *");
}

TEST(Plot, seconds_without_samples_are_gaps) {
  Grid grid(12, 2);
  std::vector<Percentiles> times(4, at_millis(10, 10, 10));
  times[1] = {};
  plotted(grid, seconds_of(times), 0, 4);
  EXPECT_EQ(grid.line(0), " 10.0ms|. ..");
}

TEST(Plot, of_a_stall_keeps_the_usual_times_apart) {
  Grid grid(18, 8);
  std::vector<Percentiles> times(10, at_millis(1, 10, 100));
  times[4] = at_millis(1, 10, 1000);
  EXPECT_TRUE(plotted(grid, seconds_of(times), 0, 10).logarithmic());
  EXPECT_EQ(grid.line(0), "     1s|    *");
  EXPECT_EQ(grid.line(2), "  100ms|**** *****");
  EXPECT_EQ(grid.line(4), " 10.0ms|++++++++++");
  EXPECT_EQ(grid.line(6), " 1.00ms|..........");
}

TEST(Plot, in_braille_has_two_points_a_cell) {
  Grid grid(9, 1);
  plotted(grid, seconds_of({at_millis(1, 1, 10), at_millis(1, 1, 10)}), 0, 2, true);
  EXPECT_EQ(grid.at(0, 8).character, U'⣉');
  EXPECT_EQ(grid.at(0, 8).style, Style::kHigh);
}

TEST(Clock, reads_as_on_a_wall) {
  EXPECT_EQ(clock_text(Duration::zero()), "0:00");
  EXPECT_EQ(clock_text(Duration::millis(61'900)), "1:01");
  EXPECT_EQ(clock_text(Duration::seconds(3 * 3600 + 62)), "3:01:02");
}

}  // namespace
}  // namespace bellwether::console
