// Stretches of runs as rows of the store. Within transactions of the caller.
#pragma once

#include <string>

#include "load/codec/window_codec.h"
#include "load/metrics/retention.h"
#include "load/plan/plan.h"
#include "load/results/database.h"

namespace bellwether::results {

// What is kept of the plan of a run, to read its stretches with.
Result<plan::Plan> kept_plan(Database& database, const std::string& run);
Status put_stretch(Database& database, const std::string& run, const Stretch& stretch);
// All stretches that begin in the time of the fold become one.
Status fold_stretches(Database& database, const std::string& run, const account::Shape& shape,
                      const metrics::Fold& fold);

}  // namespace bellwether::results
