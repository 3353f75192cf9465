// Draws the built-in values of templates (load/scenario/builtins.h). Runs for requests: nothing is allocated but what
// the text that it is appended to may need to grow. One seed gives one sequence of values.
#pragma once

#include <string>

#include "load/plan/plan.h"
#include "load/vuser/render.h"

namespace bellwether::vuser {

// REQUIRES a piece of the kind kBuiltin.
void append_builtin(const plan::Piece& piece, const RenderContext& context, std::string& out);

// Whether it is made of RenderContext::now.
bool tells_time(plan::Builtin builtin);

}  // namespace bellwether::vuser
