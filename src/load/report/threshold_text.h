// The values of thresholds and metrics as people read them.
#pragma once

#include <string>

#include "load/plan/plan.h"
#include "load/report/result_file.h"

namespace bellwether::report {

// Of a metric of the scenario's own.
std::string metric_value_text(const plan::CustomMetric& metric, plan::Aggregation aggregation, double value);

// Of one in a result file: "total, EUR"; and all its figures, "count 10, avg 12.5".
std::string title_text(const ResultMetric& metric);
std::string figures_text(const ResultMetric& metric);

// In the unit that its metric has for people: "4.50ms", "0.02%", "1,234.5/s", "17". `value` as aggregate gives it:
// durations in ms, rates 0..1.
std::string threshold_value(const plan::Plan& plan, const plan::Threshold& threshold, double value);

}  // namespace bellwether::report
