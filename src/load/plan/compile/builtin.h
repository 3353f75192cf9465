// The values that every template can mention: ${vu}, ${uuid}, ${random(1, 10)}, ${fake.city}.
#pragma once

#include <optional>
#include <string_view>
#include <tl/expected.hpp>

#include "load/plan/plan.h"
#include "load/scenario/document.h"

namespace bellwether::plan {

// Empty when the expression neither begins with the name of a built-in value nor calls a function. A problem when the
// name is unknown or the arguments are wrong. Texts to choose from are not escaped yet (TemplateMaker does).
std::optional<tl::expected<Piece, scenario::Diagnostics::Problem>> parse_builtin(std::string_view expression);

}  // namespace bellwether::plan
