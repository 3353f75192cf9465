// The series of a run as charts: SVG that stands in an HTML page and takes its colours from the page's style.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "load/report/result_file.h"

namespace bellwether::report {

// A stretch of the time axis as narrow as a chart can show: one point of the series or several neighbours. A figure
// that can hide something in a mean is kept as the least and the most of its points, a time as the longest.
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
  PointTimes longest = {};  // response times; service times where there are no others
  double covered = 0;       // seconds measured
};

inline constexpr std::size_t kMostColumns = 480;
inline constexpr double kRest = 0.1;  // seconds: what is shorter has no rate worth the name

// At most kMostColumns, each of the same time, but where a point of the series stands for more than that.
std::vector<Column> columns_of(const ResultFile& run);

// All charts, each with its heading: rate, response times, errors, virtual users. Empty for a run without a series.
std::string charts(const ResultFile& run, const std::vector<Column>& columns);

// The figures of the columns as a literal of JavaScript, for the read-out under a pointer. Numbers only.
std::string columns_script(const std::vector<Column>& columns);

}  // namespace bellwether::report
