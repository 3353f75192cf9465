// The parts of the screen. Each draws into its box.
#pragma once

#include <cstddef>
#include <span>

#include "load/aggregate/totals.h"
#include "load/console/grid.h"
#include "load/console/steering.h"
#include "load/console/view.h"

namespace bellwether::console {

// Three lines over time in a rectangle of cells: dots of two by four a cell (braille), or one character a cell.
struct Box {
  int row = 0;
  int column = 0;
  int rows = 0;
  int columns = 0;
};

// The top of the scale for a highest measured value: 1, 2 or 5 times a power of ten, at least 1 µs.
Duration scale_for(Duration highest);

// The newest points of `points` at the right, one a column of dots, p50, p95 and p99 each a line from 0 to scale_for()
// the highest p99 of the shown ones. The scale stands at the left. Returns the number of shown points.
std::size_t draw_plot(Grid& grid, const Box& box, std::span<const aggregate::Percentiles> points, bool utf8);

// The tools for drawing a screen.
struct Brush {
  Grid& grid;
  const View& view;
  const Steering& steering;
  bool utf8;
};

void draw_header(Brush& brush, int row);
void draw_bar(Brush& brush, int row);
// Returns the number of rows that it took, at most `rows`.
int draw_counters(Brush& brush, int row, int rows);
void draw_status_bar(Brush& brush, int row);
// In the middle, over everything else.
void draw_help(Brush& brush);

// Each with a title in its first row.
void draw_latency(Brush& brush, const Box& box);
std::size_t draw_steps(Brush& brush, const Box& box);  // returns the number of shown steps
void draw_thresholds(Brush& brush, const Box& box);
void draw_events(Brush& brush, const Box& box);
void draw_placement(Brush& brush, const Box& box);

}  // namespace bellwether::console
