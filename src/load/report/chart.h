// The series of a run as charts: axes, lines and bands over columns, as SVG within an HTML page. The page's style gives
// the colours.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "load/report/plot.h"
#include "load/report/result_file.h"

namespace bellwether::report {

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
