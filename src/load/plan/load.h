// The front door: the text of a scenario file in, a plan or everything that is wrong with it out.
#pragma once

#include <tl/expected.hpp>
#include <vector>

#include "load/plan/plan.h"
#include "load/scenario/document.h"
#include "load/scenario/sources.h"

namespace bellwether::plan {

// The list of diagnostics is never empty, has at most Diagnostics::kMax entries and is in the order of the file.
// REQUIRES sources.outside.
tl::expected<Plan, std::vector<scenario::Diagnostic>> load(const scenario::Sources& sources);

}  // namespace bellwether::plan
