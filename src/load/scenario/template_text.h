// The outer syntax of templates: text with ${…} in it. What an expression means is decided by whoever resolves it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace bellwether::scenario {

struct TemplatePart {
  bool is_expression = false;
  std::string text;  // of an expression: what stands between ${ and }, without surrounding spaces
};

// Splits at ${…}; $${ stands for a literal ${. Error: an expression that is empty or not closed.
Result<std::vector<TemplatePart>> split_template(std::string_view text);

}  // namespace bellwether::scenario
