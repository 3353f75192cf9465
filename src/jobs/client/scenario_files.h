// Scenarios as people give them: a file, a text, or a URL, and what goes with them on this machine's disk and in its
// environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "bellwether/client.h"
#include "core/base/result.h"
#include "core/signature/keys.h"
#include "load/plan/load.h"
#include "load/scenario/sources.h"
#include "load/script/lua/state.h"

namespace bellwether::client::detail {

// For a run that looks into a file all the time, without having it in memory: of a small one a copy, which no change of
// the file can reach; a larger one is mapped, and whoever writes into it changes what is seen, whoever cuts it off ends
// the process. Errors: as of read_whole_file().
bellwether::Result<scenario::FileView> view_whole_file(const std::string& path, uint64_t bytes_max);

// The bytes of a file. kTooLarge when there are more than `bytes_max`.
bellwether::Result<std::string> read_whole_file(const std::string& path, uint64_t bytes_max);

struct ScenarioTrouble {
  bellwether::Error error;  // kInvalid when there are diagnostics: it counts them
  std::vector<scenario::Diagnostic> diagnostics;
};
// What becomes of a scenario that is a compiled program. It is loaded into this process to be asked what it declares.
struct Native {
  bool allowed = false;  // by the user of this machine
  std::string artifact;  // absolute path, when the scenario's file is the source that it was made from
  bool travels = false;  // to a cluster, which takes only what is signed
  std::optional<signature::SigningKey> sign = {};  // with this, if it is not signed already, or by another
};
// The plan of a scenario, with all that it was made from. A script is read with the permissions `may`.
tl::expected<plan::Bundled, ScenarioTrouble> bundle_of(const Scenario& scenario, const Native& native = {},
                                                       script::lua::Permissions may = {});

}  // namespace bellwether::client::detail
