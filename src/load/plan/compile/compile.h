// From a scenario to a plan: names become indices, templates become pieces, files are read.
#pragma once

#include "load/plan/plan.h"
#include "load/scenario/model.h"
#include "load/scenario/section.h"
#include "load/scenario/sources.h"

namespace bellwether::plan {

// The plan is of use only if `reading.diagnostics` has no report. Of faulty workflows only the names stay, so that
// errors elsewhere are still found.
Plan compile(const scenario::Scenario& source, const scenario::Sources& sources, scenario::Reading& reading);

}  // namespace bellwether::plan
