// Whether a pattern that the user wrote is one, decided before the run.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace bellwether::plan {

// The number of capturing groups of a valid pattern in RE2 syntax. Error: what is wrong with it.
Result<uint16_t> count_groups(std::string_view pattern);

}  // namespace bellwether::plan
