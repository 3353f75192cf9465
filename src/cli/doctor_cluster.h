// bellwether doctor --config: what the voters of a cluster say of themselves and of each other.
#pragma once

#include <cstddef>
#include <optional>

#include "cli/operator_session.h"
#include "lead/agents/health.h"

namespace bellwether::cli {

// Asks all voters, and again for `watch_for` while none of them leads. How many were asked; nothing: the settings
// cannot be used, which has been told.
std::optional<std::size_t> examine_cluster(const OperatorOptions& options, Duration watch_for, lead::Findings& out);

}  // namespace bellwether::cli
