#include "load/scenario/template_text.h"

#include "core/base/bytes.h"

namespace bellwether::scenario {

Result<std::vector<TemplatePart>> split_template(std::string_view text) {
  std::vector<TemplatePart> parts;
  std::string literal;
  while (!text.empty()) {
    if (text.starts_with("$${")) {
      literal += "${";
      text.remove_prefix(3);
      continue;
    }
    if (!text.starts_with("${")) {
      literal += text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::size_t close = text.find('}');
    if (close == std::string_view::npos) {
      return fail(Errc::kInvalid, "a template is not closed: '}' is missing after '${'");
    }
    const std::string_view expression = trim(text.substr(2, close - 2));
    if (expression.empty()) return fail(Errc::kInvalid, "a template is empty: '${}'");
    if (!literal.empty()) parts.push_back({.is_expression = false, .text = std::move(literal)});
    literal.clear();
    parts.push_back({.is_expression = true, .text = std::string(expression)});
    text.remove_prefix(close + 1);
  }
  if (!literal.empty()) parts.push_back({.is_expression = false, .text = std::move(literal)});
  return parts;
}

}  // namespace bellwether::scenario
