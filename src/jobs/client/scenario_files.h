// Scenarios as people give them: a file, a text, or a URL, and the related files and environment of this machine.
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

// For a run that reads a file all the time without holding it in memory. A small file is copied, so later changes do
// not reach the copy. A larger one is mapped: a writer changes the visible data, and a truncation ends the process.
// Errors: as of read_whole_file().
bellwether::Result<scenario::FileView> view_whole_file(const std::string& path, uint64_t bytes_max);

// The bytes of a file. kTooLarge if it has more than `bytes_max`.
bellwether::Result<std::string> read_whole_file(const std::string& path, uint64_t bytes_max);

struct ScenarioTrouble {
  bellwether::Error error;  // kInvalid with diagnostics: it counts them
  std::vector<scenario::Diagnostic> diagnostics;
};
// How to treat a scenario that is a compiled program. It is loaded into this process for its declarations.
struct Native {
  bool allowed = false;                            // by the user of this machine
  std::string artifact;                            // absolute path, if the scenario's file is its source
  bool travels = false;                            // to a cluster, which takes only signed ones
  std::optional<signature::SigningKey> sign = {};  // with this, if it is unsigned or signed by another key
};
// The plan of a scenario, with all its inputs. A script is read with the permissions `may`.
tl::expected<plan::Bundled, ScenarioTrouble> bundle_of(const Scenario& scenario, const Native& native = {},
                                                       script::lua::Permissions may = {});

}  // namespace bellwether::client::detail
