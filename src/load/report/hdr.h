// The distribution of response times as percentile text, the form that HdrHistogram's outputPercentileDistribution
// writes and its plotter reads (https://hdrhistogram.github.io/HdrHistogram/plotFiles.html).
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "load/report/result_file.h"

namespace bellwether::report {

// Milliseconds, five lines for each halving of what is left to 100 %.
std::string percentile_text(const metrics::Histogram& histogram);

// The response times of one step, or of all with an empty name. kNotFound, with the nearest name: there is no such
// step.
Result<std::string> to_hdr(const ResultFile& run, std::string_view step);

}  // namespace bellwether::report
