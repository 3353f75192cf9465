// Thresholds as people read them.
#pragma once

#include <string>
#include <string_view>

#include "load/plan/metric.h"

namespace bellwether::aggregate {

// "http_req_duration p(99)=0.093ms, limit <0.02ms": the measured value and the limit, in one unit. `metric` and
// `expression` as the user wrote them; `unit`: that of the metric, as its thresholds use it, or empty. The value has as
// many digits as it takes to tell it from the limit. `at_least`: it is a lower bound ("p(99)≥0.093ms").
std::string threshold_text(std::string_view metric, std::string_view expression, plan::MetricKind kind,
                           std::string_view unit, double value, bool at_least);

}  // namespace bellwether::aggregate
