// The scenario's own metrics over time as charts, one for each metric, beside those of load/report/chart.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "load/report/chart.h"
#include "load/report/result_file.h"

namespace bellwether::report {

// A page with more would be too large to send and to read.
inline constexpr std::size_t kMaxMetricCharts = 24;

struct MetricCharts {
  std::string figures;       // charts of the first kMaxMetricCharts metrics that have values over time
  std::string script;        // their values, as a literal of JavaScript, for the display under a pointer
  std::size_t left_out = 0;  // metrics that have values over time, and no chart
};

MetricCharts metric_charts(const ResultFile& run, const std::vector<Column>& columns);

// The distribution of all times of a run as two plots, made from its merged histograms: the fraction of requests by
// time, and the time by percentile. Both have logarithmic axes, because latencies spread over magnitudes.

// Empty for a run without times.
std::string distribution_plots(const ResultFile& run);

}  // namespace bellwether::report
