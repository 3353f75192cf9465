// The values that every template can mention: ${vu}, ${uuid}, ${random(1, 10)}, ${fake.city}.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "load/plan/plan.h"
#include "load/scenario/document.h"

namespace bellwether::plan {

// Empty when the expression neither begins with the name of a built-in value nor calls a function. A problem when the
// name is unknown or the arguments are wrong. Texts to choose from are not escaped yet (TemplateMaker does).
std::optional<tl::expected<Piece, scenario::Diagnostics::Problem>> parse_builtin(std::string_view expression);

// A call of a function of values: ${hash.sha256(user, ':', password)}.
struct TransformCall {
  struct Argument {
    std::string text;  // an expression, or a text that stood in quotes
    bool is_text = false;
  };
  const scenario::TransformEntry* entry = nullptr;
  std::vector<Argument> arguments;
};
// Empty when the expression calls none. A problem when its arguments cannot be read.
std::optional<tl::expected<TransformCall, scenario::Diagnostics::Problem>> parse_transform(std::string_view expression);

}  // namespace bellwether::plan
