// The declarations of a script as the text of a scenario, which names a function of the script for each step. The plan
// comes from that text, and managers and workers never run a script to learn its declarations.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "core/base/result.h"
#include "core/yaml/diagnostic.h"
#include "load/plan/plan.h"
#include "load/script/lua/state.h"

namespace bellwether::script::lua {

// Whether a file of this name is a script.
bool is_script(std::string_view file_name);

// Runs the code outside of functions in the script. The result is YAML, in which a declaration stands in the line that
// it has in the script, or as near to it as the order of the declarations allows. `file_name` as the user wrote it; the
// name of the script is the last part of it.
tl::expected<std::string, std::vector<yaml::Diagnostic>> describe(const plan::Program& script,
                                                                  const std::string& file_name, Permissions may);

// Whether the script has all functions that steps call: kNotFound with the nearest name for the first missing one,
// kInvalid when it cannot be run. Runs it once.
Status check_functions(const plan::Program& script, const std::vector<std::string>& functions, Permissions may);

}  // namespace bellwether::script::lua
