// What a script declares as the text of a scenario, which says of each step that a function of the script does it. Two
// readers need no other language for it: the plan is made of that text, and managers and workers never run a script to
// know what it is about.
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

// Runs what stands outside of functions in the script. The result is YAML, in which what a line of the script declares
// stands in the same line, or as near to it as the order of the declarations allows. `file_name` as the user wrote it;
// the name of the script is the last part of it.
tl::expected<std::string, std::vector<yaml::Diagnostic>> describe(const plan::Program& script,
                                                                  const std::string& file_name, Permissions may);

// Whether the script has all functions that steps call: kNotFound with the nearest name for the first that it has not,
// kInvalid when it cannot be run. Runs it once.
Status check_functions(const plan::Program& script, const std::vector<std::string>& functions, Permissions may);

}  // namespace bellwether::script::lua
