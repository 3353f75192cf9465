// Latencies over time in a rectangle of cells: dots of two by four a cell (braille), or one character a cell. Pure.
#pragma once

#include <span>

#include "core/base/time.h"
#include "load/console/grid.h"
#include "load/console/view.h"

namespace bellwether::console {

struct Box {
  int row = 0;
  int column = 0;
  int rows = 0;
  int columns = 0;
};

// The range of a plot's values. Both ends are 1, 2 or 5 times a power of ten, at least 1 µs.
struct Scale {
  Duration low;  // 0 on a linear scale
  Duration high;
  bool logarithmic() const { return low > Duration::zero(); }
  bool operator==(const Scale&) const = default;
};

// Up to the highest p99. Linear, unless the median p50 would then lie in the lowest twentieth.
Scale scale_for(std::span<const aggregate::Percentiles> points);

// The columns of the box beside the scale at its left.
int plot_columns(const Box& box);

// p50, p95 and p99 from `from` to `to`, times of the run, each as a line. Where points share a column of dots, the
// worst one is seen. Where the box has the rows, the last one is the time axis. Returns the scale.
Scale draw_plot(Grid& grid, const Box& box, std::span<const PlotPoint> points, Duration from, Duration to, bool utf8);

// "0:12", "1:02:03".
std::string clock_text(Duration span);

}  // namespace bellwether::console
