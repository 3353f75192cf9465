// The constants of a scenario: its `env`, the environment variables that replace them, and --set, which beats both.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "load/scenario/document.h"
#include "load/scenario/sources.h"

namespace bellwether::scenario {

// The outer syntax of templates: text with ${…} in it. The resolver decides the meaning of an expression.
struct TemplatePart {
  bool is_expression = false;
  std::string text;  // of an expression: the text between ${ and }, without surrounding spaces
};

// Splits at ${…}; $${ stands for a literal ${. Error: an expression that is empty or not closed.
Result<std::vector<TemplatePart>> split_template(std::string_view text);

class Environment {
 public:
  // Resolves the `env` map of the file (null: none). Its values may mention environment variables, --set names and
  // entries above them. A null entry has no default and must come from outside.
  static Environment resolve(const Node* env, const Sources& sources, Diagnostics& diagnostics);

  const std::string* find(std::string_view name) const;
  // Whether the file's own `env` names it.
  bool declares(std::string_view name) const;
  std::vector<std::string_view> declared() const { return {declared_.begin(), declared_.end()}; }
  std::vector<std::string_view> names() const;
  // The text with every ${NAME} replaced. Error: a template that is no constant.
  Result<std::string> fold(std::string_view text) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> declared_;
};

}  // namespace bellwether::scenario
