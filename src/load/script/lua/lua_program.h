// A script on one load thread: one state for all its virtual users, a table in it for each user, and a coroutine for
// each step that runs.
#pragma once

#include <memory>

#include "core/base/result.h"
#include "load/plan/plan.h"
#include "load/script/lua/state.h"
#include "load/vuser/program.h"

namespace bellwether::script::lua {

// kInvalid with Lua's message.
Result<std::unique_ptr<vuser::Program>> load(const plan::Program& program, Permissions may);

}  // namespace bellwether::script::lua
