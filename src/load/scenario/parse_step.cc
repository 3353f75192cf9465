#include <array>

#include "load/scenario/names.h"
#include "load/scenario/parse.h"

namespace bellwether::scenario {
namespace {

constexpr std::array<std::string_view, 4> kWorks{"http", "lua", "native", "action"};
constexpr std::array<std::string_view, 5> kAllWorks{"http", "lua", "native", "action", "metric"};
constexpr std::array<std::string_view, 2> kLanguages{"lua", "native"};

decltype(Step::work) parse_action(const Node& node, const std::string& where, Reading& reading) {
  const Section section(node, "'action' of " + where, reading, maps::kAction);
  const Node* set = section.find("set");
  if (node.is_map() && node.items.size() > 1) {
    report_wrong(node, section.where(), "one of http, lua, native, set", reading);
  }
  if (const Node* request = section.find("http")) {
    Http http = parse_http(*request, "'http' of " + section.where(), reading);
    http.measured = false;
    return http;
  }
  for (const std::string_view key : kLanguages) {
    const Node* code = section.find(key);
    if (code == nullptr) continue;
    Code out = parse_code(*code, section.where(), reading);
    out.sends = false;
    return out;
  }
  std::vector<Pair> out;
  if (set != nullptr && !set->is_map()) report_wrong(*set, section.what(*set), "a map of names and texts", reading);
  if (set != nullptr && set->is_map()) {
    for (const Node& item : set->items) {
      auto value = read_text(item, in_quotes(item.key) + " in " + section.what(*set), reading);
      if (value) out.push_back({{item.key, item.key_mark}, std::move(*value)});
    }
  }
  if (node.is_map() && node.items.empty()) report_wrong(node, section.where(), "set: {NAME: VALUE}", reading);
  return out;
}

void parse_work(const Section& section, Step& step) {
  Reading& reading = section.reading();
  const Node* http = section.find("http");
  const Node* action = section.find("action");
  const Node* first = nullptr;
  for (const std::string_view key : kWorks) {
    const Node* work = section.find(key);
    if (work == nullptr) continue;
    if (first != nullptr) {
      reading.diagnostics.add(work->place(), {.message = section.where() + " has both " + in_quotes(first->key) +
                                                         " and " + in_quotes(work->key),
                                              .hint = "make two steps of it"});
      return;
    }
    first = work;
  }
  if (http != nullptr) {
    step.work = parse_http(*http, "'http' of " + section.where(), reading);
    return;
  }
  if (first != nullptr && first != action) {
    step.work = parse_code(*first, section.where(), reading);
    return;
  }
  if (action != nullptr) {
    step.work = parse_action(*action, section.where(), reading);
  } else if (section.find("metric") != nullptr) {
    step.work = std::vector<Pair>();
  } else {
    if (section.has_later()) return;
    reading.diagnostics.add(step.name.mark,
                            {.message = section.where() + " does nothing", .expected = scenario::one_of(kAllWorks)});
    return;
  }
  if (std::holds_alternative<Http>(step.work)) return;
  const std::string_view kind = action != nullptr ? "an action" : "a step without a request";
  for (const std::string_view key : {"check", "extract"}) {
    if (const Node* node = section.find(key)) {
      reading.diagnostics.add(node->place(), {.message = section.what(*node) + " needs a response, and " +
                                                         std::string(kind) + " has none"});
    }
  }
}

}  // namespace

bool is_test_step(const Step& step) {
  if (const auto* http = std::get_if<Http>(&step.work)) return http->measured;
  if (const auto* code = std::get_if<Code>(&step.work)) return code->sends;
  return std::holds_alternative<std::monostate>(step.work);  // wrong, and probably meant as one
}

Step parse_step(const Node& node, const std::string& workflow, Reading& reading) {
  Step step;
  step.name = {node.key, node.key_mark};
  const Section section(node, "step " + in_quotes(workflow + "." + node.key), reading, maps::kStep);
  if (!is_step_name(node.key)) {
    reading.diagnostics.add(node.place(), {.message = in_quotes(node.key) + " cannot be the name of a step",
                                           .expected = "1 to 100 letters, digits, _ and -"});
  } else if (is_taken_prefix(node.key)) {
    reading.diagnostics.add(node.place(), {.message = in_quotes(node.key) + " cannot be the name of a step",
                                           .expected = "another name: ${" + node.key + ".…} is a made-up value"});
  }
  if (!node.is_map()) return step;
  if (const Node* after = section.find("after")) step.after = read_texts(*after, section.what(*after), reading);
  parse_work(section, step);
  if (const Node* check = section.find("check")) step.checks = parse_checks(*check, section.where(), reading);
  if (const Node* extract = section.find("extract")) step.extracts = parse_extracts(*extract, section.where(), reading);
  if (const Node* think = section.find("think")) step.think = parse_delay(*think, section.what(*think), reading);
  if (const auto choice = section.choice("on_error")) step.on_error = static_cast<OnError>(*choice);
  step.tags = parse_tags(section, true);
  if (const Node* metric = section.find("metric"))
    step.records = parse_records(*metric, section.what(*metric), reading);
  return step;
}

}  // namespace bellwether::scenario
