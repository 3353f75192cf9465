// A script on one load thread: one state for all its virtual users, a table in it for each user, and a coroutine for
// each step that runs.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
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

}  // namespace bellwether::script::lua
