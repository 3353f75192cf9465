// Which run is meant.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace bellwether::results {

// The index of the run that `name` means, among the ids of all runs, the newest first: an id, the beginning of one,
// `last`, or `last~N` for the Nth before it. kNotFound, with the nearest id; kInvalid when several begin so.
Result<std::size_t> pick(std::string_view name, const std::vector<std::string_view>& ids);

}  // namespace bellwether::results
