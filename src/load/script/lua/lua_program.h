// A script: its run on a load thread, its declarations, and their text as a scenario. On a load thread it has one state
// for all virtual users, a table in it for each user, and a coroutine for each step that runs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "core/base/result.h"
#include "core/yaml/diagnostic.h"
#include "load/plan/plan.h"
#include "load/script/lua/state.h"
#include "load/vuser/program.h"

struct lua_State;

namespace bellwether::script::lua {

// kInvalid with Lua's message.
Result<std::unique_ptr<vuser::Program>> load(const plan::Program& program, Permissions may);

// The declarations of a script: the scenario's settings, its workflows and their steps.

// Gives a new state the functions scenario() and workflow(). Leaves a table on the stack in which they write down:
//   settings = {line, value} or nil
//   workflows = list of {name, line, settings, steps = list of {name, line, options, run, action}}
//   functions = the functions of all steps, by "workflow.step"
// kInvalid with Lua's message.
Status push_declarations(lua_State* state);

// Pushes a function after the script has run: of a step by "workflow.step", or a global one by its name.
// `declarations`: where their table is on the stack. kNotFound, with the nearest name; nothing is pushed then.
Status push_function(lua_State* state, int declarations, const std::string& name);

// The declarations of a script as the text of a scenario, which names a function of the script for each step. The plan
// comes from that text, and managers and workers never run a script to learn its declarations.

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
