// Reads scenarios and policy sheets from the disk for the rooms that must not.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/signature/keys.h"
#include "jobs/client/scenario_files.h"
#include "lead/policy/policy.h"
#include "load/plan/load.h"

namespace CLI {
class App;
}

namespace bellwether::cli {

using client::detail::read_whole_file;

void add_sets(CLI::App* command, std::vector<std::string>& sets);
// --allow-files and --allow-processes.
void add_permissions(CLI::App* command, script::lua::Permissions& scripts);

// "NAME=VALUE" pairs as given to `option`, whose help calls them `kind`. Error: kInvalid.
Result<std::vector<std::pair<std::string, std::string>>> parse_pairs(const std::vector<std::string>& texts,
                                                                     std::string_view option = "--set",
                                                                     std::string_view kind = "NAME=VALUE");

// Adds DURATION:TARGET of --stage, as in k6; a target with a unit of time is a rate. Error: kInvalid.
Status add_stage(const std::string& text, client::Scenario& scenario);
// The content of @FILE, or of standard input for @-; any other text is the body itself.
Result<std::string> read_body(const std::string& text);

// Of --timeout; nothing for an empty text.
Result<std::optional<Duration>> parse_timeout(const std::string& text);
// The plan of a scenario, with all its inputs. Its errors go to stderr, one diagnostic after the other, and the result
// is an Error that counts them.
Result<plan::Bundled> load_scenario(const client::Scenario& scenario, const client::detail::Native& native = {},
                                    script::lua::Permissions may = {});

// Lets a scenario be a compiled program; compiles one in C++ first, unless that was done before. The compiler's errors
// go to stderr, and the result is an Error that says so.
Result<client::detail::Native> native_of(const std::string& file);
// The same for a cluster, which runs only signed programs: with the key in that file, unless the name is empty.
Result<client::detail::Native> native_for_cluster(const std::string& file, const std::string& sign_key);

// The key of --sign-key. kInvalid too when others than its owner may read the file.
Result<signature::SigningKey> read_signing_key(const std::string& path);
void add_sign_option(CLI::App* command, std::string& path);

// The policy sheet of a file. Its errors go to stderr as above, its warnings to `warnings`.
Result<lead::Policy> load_policy(const std::string& path, std::vector<yaml::Diagnostic>* warnings = nullptr);
// The named loops of the sheet, or all without names, each with a store: `via` replaces the sheet's. kNotFound,
// kInvalid: one is missing, or has no store.
Result<std::vector<lead::LoopPolicy>> choose_loops(const std::string& path, const std::string& via,
                                                   const std::vector<std::string>& names = {});

}  // namespace bellwether::cli
