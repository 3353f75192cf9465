// The values that every template can mention: ${vu}, ${uuid}, ${random(1,10)}.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "plan/plan.h"

namespace bellwether::plan {

// Nothing when the expression does not begin with the name of a built-in value; an error when its arguments are wrong.
std::optional<Result<Piece>> parse_builtin(std::string_view expression);

}  // namespace bellwether::plan
