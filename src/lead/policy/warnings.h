// What to warn about in a policy sheet that is right.
#pragma once

#include <vector>

#include "lead/policy/policy.h"

namespace bellwether::lead {

std::vector<yaml::Diagnostic> warn_about(const Policy& policy);

}  // namespace bellwether::lead
