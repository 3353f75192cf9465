// What a valid plan says, and its user may not have meant.
#pragma once

#include <string>
#include <vector>

#include "load/plan/plan.h"

namespace bellwether::plan {

// A clause without a full stop for each name of `hosts` that no URL has. None when a program, or a value that only the
// run knows, may name more hosts.
std::vector<std::string> host_warnings(const Plan& plan);

}  // namespace bellwether::plan
