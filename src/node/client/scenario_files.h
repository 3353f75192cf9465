// Scenarios as people give them: a file, a text, or a URL, and what goes with them on this machine's disk and in its
// environment.
#pragma once

#include <tl/expected.hpp>
#include <vector>

#include "bellwether/client.h"
#include "plan/bundle.h"
#include "script/lua/state.h"

namespace bellwether::client::detail {

// The bytes of a file. kTooLarge when there are more than `bytes_max`.
bellwether::Result<std::string> read_whole_file(const std::string& path, uint64_t bytes_max);

struct ScenarioTrouble {
  bellwether::Error error;  // kInvalid when there are diagnostics: it counts them
  std::vector<scenario::Diagnostic> diagnostics;
};
// The plan of a scenario, with all that it was made from. A script is read with these permissions.
tl::expected<plan::Bundled, ScenarioTrouble> bundle_of(const Scenario& scenario, script::lua::Permissions may = {});

}  // namespace bellwether::client::detail
