// The distribution of all times of a run as two plots, made from its merged histograms: the fraction of requests by
// time, and the time by percentile. Both have logarithmic axes, because latencies spread over magnitudes.
#pragma once

#include <string>

#include "load/report/result_file.h"

namespace bellwether::report {

// Empty for a run without times.
std::string distribution_plots(const ResultFile& run);

}  // namespace bellwether::report
