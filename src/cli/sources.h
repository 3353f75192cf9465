// Reads scenarios and policy sheets from the disk for the rooms that must not.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "lead/policy/policy.h"
#include "node/client/scenario_files.h"
#include "plan/bundle.h"

namespace bellwether::cli {

using client::detail::read_whole_file;

// "NAME=VALUE" pairs as given to --set. Error: kInvalid.
Result<std::vector<std::pair<std::string, std::string>>> parse_sets(const std::vector<std::string>& texts);

// Of --timeout; nothing for an empty text.
Result<std::optional<Duration>> parse_timeout(const std::string& text);
// The plan of a scenario, with all that it was made from. What is wrong with it goes to stderr, one diagnostic after
// the other, and the result is an Error that counts them.
Result<plan::Bundled> load_scenario(const client::Scenario& scenario, const client::detail::Native& native = {},
                                    script::lua::Permissions may = {});

// Lets a scenario be a compiled program; one in C++ is compiled first, if it was not before. What the compiler has to
// say against it goes to stderr, and the result is an Error that says so.
Result<client::detail::Native> native_of(const std::string& file);

// The policy sheet of a file. What is wrong with it goes to stderr as above; what to warn of goes to `warnings`.
Result<lead::Policy> load_policy(const std::string& path, std::vector<yaml::Diagnostic>& warnings);

}  // namespace bellwether::cli
