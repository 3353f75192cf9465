// Reading the JSONPath of one value: $, .name, ['name'], [0], [-1].
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "load/plan/plan.h"

namespace bellwether::plan {

// Error: what is wrong with the path, and where in it.
Result<JsonPath> parse_json_path(std::string_view text);

}  // namespace bellwether::plan
