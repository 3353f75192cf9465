// Reads a scenario file from the disk for the rooms that must not.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "scenario/sources.h"

namespace bellwether::cli {

// "NAME=VALUE" pairs as given to --set. Error: kInvalid.
Result<std::vector<std::pair<std::string, std::string>>> parse_sets(const std::vector<std::string>& texts);

// The plan of a scenario file. What is wrong with it goes to stderr, one diagnostic after the other, and the result is
// an Error that counts them.
Result<plan::Plan> load_plan(const std::string& path, std::vector<std::pair<std::string, std::string>> sets,
                             scenario::Overrides overrides);

}  // namespace bellwether::cli
