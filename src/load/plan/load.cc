#include "load/plan/load.h"

#include <algorithm>

#include "core/base/check.h"
#include "load/plan/compile.h"
#include "load/scenario/document.h"
#include "load/scenario/environment.h"
#include "load/scenario/include.h"
#include "load/scenario/names.h"
#include "load/scenario/parse.h"

namespace bellwether::plan {
namespace {

// "load/shop.yaml" is called "shop".
std::string stem(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  const std::size_t dot = file.rfind('.');
  return dot == 0 ? file : file.substr(0, dot);
}

const scenario::Node* env_of(const scenario::Node& root) {
  for (const scenario::Node& item : root.items) {
    if (root.is_map() && item.key == "env") return &item;
  }
  return nullptr;
}

// A --set that nothing mentions is a slip of the pen: the run would not be the one that was meant.
void check_sets(const scenario::Sources& sources, const std::vector<std::string>& texts,
                const scenario::Environment& environment, scenario::Diagnostics& diagnostics) {
  const auto mentioned = [&texts](const std::string& name) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return text.find("${" + name + "}") != std::string::npos; });
  };
  for (const auto& [name, value] : sources.sets) {
    if (!scenario::is_value_name(name)) {
      diagnostics.add({}, {.message = "--set " + scenario::in_quotes(name) + " cannot be the name of a value",
                           .expected = "NAME=VALUE, the name of letters, digits and _"});
    } else if (!environment.declares(name) && !mentioned(name)) {
      diagnostics.add({}, {.message = "--set " + scenario::in_quotes(name) + ": the scenario mentions no such name",
                           .hint = scenario::did_you_mean(name, environment.declared())});
    }
  }
}

// A program, a library or an archive of them. What it would do as a scenario, only running it could tell.
bool is_compiled(std::string_view text) { return text.starts_with("\x7f\x45LF") || text.starts_with("!<arch>\n"); }

}  // namespace

tl::expected<Plan, std::vector<scenario::Diagnostic>> load(const scenario::Sources& sources) {
  check(sources.outside != nullptr, "the scenario may ask for a file or a variable");
  scenario::Diagnostics diagnostics(sources.file_name);
  if (is_compiled(sources.text)) {
    diagnostics.add({1, 1},
                    {.message = "this is a compiled program",
                     .expected = "a scenario as text (YAML)",
                     .hint = "only text is read here, and nothing is executed: `bellwether run` and `bellwether job "
                             "submit` ask a program what its scenario is"});
    return tl::unexpected(diagnostics.take());
  }
  const auto whole = scenario::read_with_includes(sources, diagnostics);
  if (!whole) return tl::unexpected(diagnostics.take());
  const auto environment = scenario::Environment::resolve(env_of(whole->root), sources, diagnostics);
  check_sets(sources, whole->texts, environment, diagnostics);
  scenario::Reading reading{diagnostics, environment, whole->folders};
  scenario::Scenario scenario = scenario::parse_scenario(whole->root, stem(sources.file_name), reading);
  if (diagnostics.empty()) scenario::apply_overrides(sources.overrides, scenario, diagnostics);
  Plan plan = compile(scenario, sources, reading);
  if (!diagnostics.empty()) return tl::unexpected(diagnostics.take());
  return plan;
}

}  // namespace bellwether::plan
