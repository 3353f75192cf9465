#include <gtest/gtest.h>

#include "load/console/draw_parts.h"

namespace bellwether::console {
namespace {

std::vector<aggregate::Percentiles> level(std::size_t count, int64_t p50, int64_t p95, int64_t p99) {
  return {count, {Duration::millis(p50), Duration::millis(p95), Duration::millis(p99)}};
}

TEST(Scale, is_the_next_round_number) {
  EXPECT_EQ(scale_for(Duration::zero()), Duration::micros(1));
  EXPECT_EQ(scale_for(Duration::micros(1)), Duration::micros(1));
  EXPECT_EQ(scale_for(Duration::micros(3)), Duration::micros(5));
  EXPECT_EQ(scale_for(Duration::micros(1001)), Duration::millis(2));
  EXPECT_EQ(scale_for(Duration::millis(5)), Duration::millis(5));
  EXPECT_EQ(scale_for(Duration::seconds(7)), Duration::seconds(10));
}

TEST(Plot, of_level_lines_has_each_at_its_height) {
  Grid grid(18, 5);
  EXPECT_EQ(draw_plot(grid, {0, 0, 5, 18}, level(100, 0, 5, 10), false), 10u);
  EXPECT_EQ(grid.line(0), " 10.0ms|**********");
  EXPECT_EQ(grid.line(1), "       |");
  EXPECT_EQ(grid.line(2), " 5.00ms|++++++++++");
  EXPECT_EQ(grid.line(4), "      0|");
}

TEST(Plot, shows_the_newest_at_the_right_and_joins_jumps) {
  Grid grid(12, 4);
  auto points = level(1, 1, 1, 1);
  points.push_back(level(1, 1, 1, 1)[0]);
  points.push_back(level(1, 1, 1, 10)[0]);
  EXPECT_EQ(draw_plot(grid, {0, 0, 4, 12}, points, false), 3u);
  EXPECT_EQ(grid.line(0), " 10.0ms|   *");
  EXPECT_EQ(grid.line(1), "       |   *");
  EXPECT_EQ(grid.line(2), "       |   *");
  EXPECT_EQ(grid.line(3), "      0| ...");
}

TEST(Plot, seconds_without_samples_are_gaps) {
  Grid grid(12, 2);
  auto points = level(4, 10, 10, 10);
  points[1] = {};
  draw_plot(grid, {0, 0, 2, 12}, points, false);
  EXPECT_EQ(grid.line(0), " 10.0ms|. ..");
}

TEST(Plot, in_braille_has_two_points_a_cell) {
  Grid grid(9, 1);
  EXPECT_EQ(draw_plot(grid, {0, 0, 1, 9}, level(10, 0, 0, 10), true), 2u);
  EXPECT_EQ(grid.at(0, 8).character, U'⠉');
  EXPECT_EQ(grid.at(0, 8).style, Style::kHigh);
}

}  // namespace
}  // namespace bellwether::console
