// Three lines over time in a rectangle of cells: dots of two by four a cell (braille), or one character a cell.
#pragma once

#include <span>

#include "aggregate/totals.h"
#include "console/grid.h"

namespace bellwether::console {

struct Box {
  int row = 0;
  int column = 0;
  int rows = 0;
  int columns = 0;
};

// The highest value of the scale for a highest measured one: 1, 2 or 5 times a power of ten, at least 1 µs.
Duration scale_for(Duration highest);

// The newest points of `points` at the right, one a column of dots, p50, p95 and p99 each a line from 0 to scale_for()
// the highest p99 among those shown. The scale stands at the left. Gives the number of points that are shown.
std::size_t draw_plot(Grid& grid, const Box& box, std::span<const aggregate::Percentiles> points, bool utf8);

}  // namespace bellwether::console
