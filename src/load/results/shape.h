// The part of a plan that gives its windows a meaning later, without the scenario: names and their relations. Of the
// scenario's secrets only names can be in it.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "load/codec/window_codec.h"
#include "load/metrics/retention.h"
#include "load/plan/plan.h"
#include "load/results/database.h"

namespace bellwether::results {

inline constexpr std::size_t kMaxShapeBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxShapeEntries = 50'000;

std::string encode_shape(const plan::Plan& plan);
// A plan for counting and reporting, not for running: its workflows have no steps, and it has no thresholds. kInvalid:
// no such text.
Result<plan::Plan> decode_shape(std::string_view text);

// Intervals of runs as rows of the store. Within transactions of the caller.

// The stored part of the plan of a run, to read its intervals with.
Result<plan::Plan> kept_plan(Database& database, const std::string& run);
Status put_stretch(Database& database, const std::string& run, const Interval& interval);
// All intervals that begin in the time of the fold become one.
Status fold_stretches(Database& database, const std::string& run, const ingest::Shape& shape,
                      const metrics::Fold& fold);

}  // namespace bellwether::results
