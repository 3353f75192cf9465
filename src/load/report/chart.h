// The series of a run as charts: axes, lines and bands over columns, as SVG within an HTML page. The page's style gives
// the colours.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "load/report/result_file.h"

namespace bellwether::report {

// Parts of the plots in an HTML report: axes, grid and frame, as SVG. The page's style gives the colours.

// The range of an axis, and the values with a mark.
struct Axis {
  double least = 0;
  double most = 1;
  bool log = false;
  std::vector<double> ticks = {};

  // The place of a value, from 0 to 1.
  double part(double value) const;
};
// With room for both values, to the next tick.
Axis linear_axis(double least, double most);
// REQUIRES 0 < least <= most.
Axis log_axis(double least, double most);

// 1, 2 or 5 times a power of ten, so that `most` spans about `parts` of them; 1 when `most` is not positive.
double tick_for(double most, int parts);

// The size of a plot, and of its margins, in its own units.
inline constexpr double kPlotWidth = 600;
inline constexpr double kPlotHeight = 190;
inline constexpr double kPlotLeft = 58;
inline constexpr double kPlotRight = 12;
inline constexpr double kPlotTop = 12;
inline constexpr double kPlotBottom = 24;

// The place of a part of an axis.
double across(double part);
double upward(double part);

// Lines and labels of an upright axis, and one label of a level one.
std::string grid_of(const Axis& axis);
std::string level_label(double part, const std::string& text);

// A number of SVG, with one decimal place.
std::string number(double value);
// A value at an axis: "0.5", "12k".
std::string label(double value);

// The looks and their meanings.
std::string legend(const std::vector<std::pair<std::string, std::string>>& entries);

// A plot with its heading. `title` is any text; `attributes` of the svg element begin with a space.
std::string plot_figure(const std::string& title, const std::string& legend, const std::string& attributes,
                        const std::string& inside);

// The narrowest interval of the time axis in a chart: one point of the series or several neighbours. A figure that a
// mean could hide is kept as the least and the most of its points, a time as the longest.
struct Column {
  double from = 0;  // seconds since the start of the run
  double to = 0;
  double rate = 0;  // per second, the mean
  double rate_least = 0;
  double rate_most = 0;
  double failed = 0;  // per second, the mean
  double failed_most = 0;
  uint64_t vus = 0;         // the most
  bool timed = false;       // the rest was measured
  PointTimes longest = {};  // those of the points
  double covered = 0;       // seconds measured
};

inline constexpr std::size_t kMaxColumns = 480;
inline constexpr double kRest = 0.1;  // seconds: a shorter rest has no meaningful rate

// At most kMaxColumns, each of the same time, unless a point of the series stands for more. Their times are response
// times.
std::vector<Column> columns_of(const std::vector<ResultPoint>& series);

// All charts of the run, each with its heading: rate, times, failures, virtual users. Empty for a run without a series.
std::string charts(const ResultFile& run, const std::vector<Column>& columns);

// The charts of a step, its times and its rates; `data` is the place of its columns among those of the page's script.
std::string step_charts(const ResultFile& run, const ResultStep& step, const std::vector<Column>& columns,
                        std::size_t data);

// The figures of the columns as a literal of JavaScript, for the display under the pointer. Numbers only.
std::string columns_script(const std::vector<Column>& columns);

// The values of one chart, one for each column; NaN without a measurement.
using Values = std::vector<double>;

class Chart {
 public:
  // REQUIRES columns. They and `run` must outlive it.
  Chart(const ResultFile& run, const std::vector<Column>& columns, Axis axis);

  // A line for each interval without a gap. A single point is a dot. `look` is a class of the page's style.
  std::string line(const std::string& look, const Values& values) const;
  // An area for each interval without a gap. REQUIRES gaps at the same places.
  std::string band(const std::string& look, const Values& least, const Values& most) const;
  // The whole chart. `kind` and `attributes` say which values the page's script reads out; `title` is any text.
  std::string wrap(const std::string& title, const std::string& legend, const std::string& kind,
                   const std::string& inside, const std::string& attributes = {}) const;

 private:
  double x(double t) const;
  double y(double value) const { return upward(axis_.part(value)); }
  double middle(std::size_t column) const;
  // The marks of intervals without figures, and of events.
  std::string marks() const;

  const ResultFile& run_;
  const std::vector<Column>& columns_;
  Axis axis_;
  double length_;
};

}  // namespace bellwether::report
