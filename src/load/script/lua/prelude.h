// The declarations of a script: the scenario's settings, its workflows and their steps.
#pragma once

#include <string>

#include "core/base/result.h"

struct lua_State;

namespace bellwether::script::lua {

// Gives a new state the functions scenario() and workflow(). Leaves a table on the stack in which they write down:
//   settings = {line, value} or nil
//   workflows = list of {name, line, settings, steps = list of {name, line, options, run, action}}
//   functions = the functions of all steps, by "workflow.step"
// kInvalid with Lua's message.
Status push_declarations(lua_State* state);

// Pushes a function after the script has run: of a step by "workflow.step", or a global one by its name.
// `declarations`: where their table is on the stack. kNotFound, with the nearest name; nothing is pushed then.
Status push_function(lua_State* state, int declarations, const std::string& name);

}  // namespace bellwether::script::lua
