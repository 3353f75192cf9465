// Thresholds in k6's grammar: a metric with optional tags in braces, and AGGREGATION OPERATOR NUMBER.
#pragma once

#include <vector>

#include "load/plan/plan.h"
#include "load/scenario/model.h"
#include "load/scenario/section.h"

namespace bellwether::plan {

// Resolves the names in the thresholds of `source` against `plan`, whose steps and checks are complete. With
// `checks_known` false (some workflow was wrong) unknown checks are not reported.
std::vector<Threshold> compile_thresholds(const scenario::Scenario& source, const Plan& plan, bool checks_known,
                                          scenario::Reading& reading);

}  // namespace bellwether::plan
