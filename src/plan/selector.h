// The left side of a threshold: a metric, and with tags the part of it that is meant.
#pragma once

#include <string_view>
#include <tl/expected.hpp>

#include "plan/metric.h"
#include "plan/plan.h"
#include "scenario/document.h"

namespace bellwether::plan {

// Resolves `text`, such as "http_req_duration{step:browse.pay}", against the names in `plan`; sets step, workflow and
// check of `out`. With `checks_known` false, a check that the plan has not is no problem.
tl::expected<Metric, scenario::Diagnostics::Problem> resolve_selector(std::string_view text, const Plan& plan,
                                                                      bool checks_known, Threshold& out);

}  // namespace bellwether::plan
