// The plan of `bellwether run URL`: one request over and over, without a scenario file.
#pragma once

#include "core/base/result.h"
#include "load/plan/plan.h"
#include "load/scenario/quick_run.h"

namespace bellwether::plan {

using scenario::QuickRun;

// Nothing in the request is a template. Error: kInvalid or kUnsupported, with what to write instead.
Result<Plan> make_plan(const QuickRun& run);

}  // namespace bellwether::plan
