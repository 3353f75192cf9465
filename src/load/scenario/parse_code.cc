#include <algorithm>

#include "load/scenario/names.h"
#include "load/scenario/parse.h"

namespace bellwether::scenario {
namespace {

constexpr std::size_t kNameMax = 200;

void parse_arguments(const Section& section, Code& out) {
  Reading& reading = section.reading();
  const Node* arguments = section.find("args");
  if (arguments == nullptr) return;
  if (!arguments->is_map() || arguments->items.size() > kArgumentsMax) {
    report_wrong(*arguments, section.what(*arguments),
                 "a map of at most " + std::to_string(kArgumentsMax) + " names and texts", reading);
    return;
  }
  for (const Node& item : arguments->items) {
    if (!is_value_name(item.key)) {
      reading.diagnostics.add(item.place(), {.message = in_quotes(item.key) + " cannot be the name of an argument",
                                             .expected = "letters, digits and _"});
      continue;
    }
    auto value = read_text(item, section.what(item), reading);
    if (value) out.arguments.push_back({{item.key, item.key_mark}, std::move(*value)});
  }
}

// A list of different names.
std::vector<Text> parse_names(const Section& section, std::string_view key) {
  Reading& reading = section.reading();
  const Node* node = section.find(key);
  if (node == nullptr) return {};
  std::vector<Text> names = read_texts(*node, section.what(*node), reading);
  if (names.size() > kArgumentsMax) {
    report_wrong(*node, section.what(*node), "at most " + std::to_string(kArgumentsMax) + " names", reading);
    names.resize(kArgumentsMax);
  }
  for (auto name = names.begin(); name != names.end(); ++name) {
    const bool again = std::any_of(names.begin(), name, [&](const Text& other) { return other.text == name->text; });
    if (name->text.empty() || name->text.size() > kNameMax) {
      reading.diagnostics.add(name->mark, {.message = section.what(*node) + " has a name that cannot be one",
                                           .found = in_quotes(name->text),
                                           .expected = "1 to " + std::to_string(kNameMax) + " bytes"});
    } else if (again) {
      reading.diagnostics.add(name->mark,
                              {.message = in_quotes(name->text) + " is there twice in " + section.what(*node)});
    }
  }
  return names;
}

}  // namespace

Code parse_code(const Node& node, const std::string& where, Reading& reading) {
  const Section section(node, in_quotes(node.key) + " of " + where, reading, maps::kCode);
  Code out;
  if (node.key == "native") out.language = Code::Language::kNative;
  if (!node.is_map()) return out;
  for (const auto& [key, text] : {std::pair<std::string_view, Text*>{"file", &out.file}, {"call", &out.function}}) {
    if (section.find(key) == nullptr) {
      section.report_missing(in_quotes(key) + " is missing in " + section.where(),
                             key == "file" ? "the file of the program" : "the name of a function of the program");
    } else if (auto value = section.constant(key)) {
      *text = std::move(*value);
    }
  }
  parse_arguments(section, out);
  out.sets = parse_names(section, "sets");
  out.checks = parse_names(section, "checks");
  return out;
}

}  // namespace bellwether::scenario
