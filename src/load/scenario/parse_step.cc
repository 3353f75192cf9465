// Steps, and the scenario's own metrics, {orders: counter, total: {kind: trend, unit: EUR}}, with the steps' records of
// them.
#include <algorithm>
#include <array>

#include "core/base/bytes.h"
#include "load/scenario/parse.h"
#include "load/scenario/section.h"

namespace bellwether::scenario {

namespace {

constexpr std::array<std::string_view, 7> kAllWorks{"http", "lua", "native", "action", "steps", "choose", "metric"};
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
    if (!out.requests.empty()) {
      reading.diagnostics.add(out.requests.front().mark,
                              {.message = "'requests' names requests to measure",
                               .found = section.where() + ", which measures none",
                               .hint = "take 'requests' away, or make a step of the action"});
    }
    return out;
  }
  std::vector<Pair> out;
  if (set != nullptr && !set->is_map()) report_wrong(*set, section.what(*set), "a map of names and texts", reading);
  if (set != nullptr && set->is_map()) {
    for (const Node& item : set->items) {
      auto value = read_text(item, fmt::format("{} in {}", in_quotes(item.key), section.what(*set)), reading);
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
  const std::vector<const Node*> given = section.given(maps::kStep.exactly_one);
  const Node* const first = given.empty() ? nullptr : given.front();
  if (given.size() > 1) {
    const Node& second = *given[1];
    note_unread(*first, reading);
    note_unread(second, reading);
    reading.diagnostics.add(second.place(), {.message = fmt::format("{} has both {} and {}", section.where(),
                                                                    in_quotes(first->key), in_quotes(second.key)),
                                             .hint = "make two steps of it"});
    return;
  }
  if (http != nullptr) {
    step.work = parse_http(*http, "'http' of " + section.where(), reading);
    return;
  }
  if (first != nullptr && (first->key == "steps" || first->key == "choose")) {
    step.work = Block{.one = first->key == "choose"};
    for (const std::string_view key : {"check", "extract", "metric", "on_error"}) {
      const Node* node = section.find(key);
      if (node == nullptr) continue;
      section.report_useless(*node, "the steps that it holds do the work",
                             fmt::format("move {} to one of these steps", in_quotes(key)));
    }
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
    if (section.has_later() || section.has_unknown()) return;  // that may be its work, misspelt
    reading.diagnostics.add(step.name.mark,
                            {.message = section.where() + " does nothing", .expected = scenario::one_of(kAllWorks)});
    return;
  }
  if (std::holds_alternative<Http>(step.work)) return;
  const std::string_view kind = action != nullptr ? "an action" : "a step without a request";
  for (const std::string_view key : {"check", "extract"}) {
    if (const Node* node = section.find(key)) {
      reading.diagnostics.add(
          node->place(), {.message = fmt::format("{} needs a response, and {} has none", section.what(*node), kind)});
    }
  }
}

constexpr std::size_t kMaxName = 200;

void parse_arguments(const Section& section, Code& out) {
  Reading& reading = section.reading();
  const Node* arguments = section.find("args");
  if (arguments == nullptr) return;
  if (!arguments->is_map() || arguments->items.size() > kMaxArguments) {
    report_wrong(*arguments, section.what(*arguments),
                 fmt::format("a map of at most {} names and texts", kMaxArguments), reading);
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
  if (names.size() > kMaxArguments) {
    report_wrong(*node, section.what(*node), fmt::format("at most {} names", kMaxArguments), reading);
    names.resize(kMaxArguments);
  }
  for (auto name = names.begin(); name != names.end(); ++name) {
    const bool again = std::any_of(names.begin(), name, [&](const Text& other) { return other.text == name->text; });
    if (name->text.empty() || name->text.size() > kMaxName) {
      reading.diagnostics.add(name->mark, {.message = section.what(*node) + " has a name that cannot be one",
                                           .found = in_quotes(name->text),
                                           .expected = fmt::format("1 to {} bytes", kMaxName)});
    } else if (again) {
      reading.diagnostics.add(
          name->mark, {.message = fmt::format("{} is there twice in {}", in_quotes(name->text), section.what(*node))});
    }
  }
  return names;
}

// In the order of the table of keys.
constexpr std::array<MetricKind, 4> kKinds{MetricKind::kCounter, MetricKind::kGauge, MetricKind::kRate,
                                           MetricKind::kTrend};

std::optional<Metric> parse_metric(const Node& node, Reading& reading) {
  const std::string where = "metric " + in_quotes(node.key);
  if (!is_value_name(node.key) || node.key.size() > kMaxMetricName) {
    reading.diagnostics.add(node.place(),
                            {.message = in_quotes(node.key) + " cannot be the name of a metric",
                             .expected = fmt::format("letters, digits and _, at most {}", kMaxMetricName)});
    return std::nullopt;
  }
  Metric out;
  out.name = {node.key, node.key_mark};
  if (!node.is_map()) {
    const auto kind =
        read_choice(node, where, find_value(*find_key(maps::kMetric, "kind"), Form::kChoice)->choices, reading);
    if (!kind) return std::nullopt;
    out.kind = kKinds[*kind];
    return out;
  }
  const Section section(node, where, reading, maps::kMetric);
  section.need("kind", "one of counter, gauge, rate, trend");
  if (const auto kind = section.choice("kind")) out.kind = kKinds[*kind];
  if (const auto unit = section.constant("unit")) {
    out.unit = unit->text;
    if (out.unit.size() > kMaxUnit) {
      report_wrong(*section.find("unit"), section.what(*section.find("unit")),
                   fmt::format("at most {} bytes", kMaxUnit), reading);
    }
  }
  return out;
}

constexpr std::size_t kMaxValue = 200;
// The existing tags of steps in thresholds.
constexpr std::array<std::string_view, 9> kTaken{"step", "workflow", "scenario",         "check", "group", "method",
                                                 "url",  "status",   "expected_response"};

void report_value(const Text& value, const std::string& what, Reading& reading) {
  reading.diagnostics.add(
      value.mark,
      {.message = "wrong " + what,
       .found = in_quotes(value.text),
       .expected = fmt::format("1 to {} bytes, none of , {{ and }}: a threshold could not name it", kMaxValue)});
}

}  // namespace

bool is_test_step(const Step& step) {
  if (const auto* http = std::get_if<Http>(&step.work)) return http->measured;
  if (const auto* code = std::get_if<Code>(&step.work)) return code->sends;
  return std::holds_alternative<std::monostate>(step.work);  // wrong, and probably intended as one
}

namespace {

void parse_list(const Node& steps, const std::string& what, std::optional<uint16_t> holder, Workflow& workflow,
                Reading& reading);

// `after` and `weight`: where they have a meaning.
void parse_place(const Section& section, const Block* block, Step& step) {
  Reading& reading = section.reading();
  const bool is_drawn = block != nullptr && block->one;
  const Node* after = section.find("after");
  const Node* weight = section.find("weight");
  if (after != nullptr) step.after = read_texts(*after, section.what(*after), reading);
  step.weight = section.whole("weight").value_or(step.weight);
  const Node* useless = is_drawn ? after : weight;
  if (useless == nullptr) return;
  section.report_useless(*useless, is_drawn ? "only one of the steps of 'choose' runs" : "no 'choose' holds the step");
}

void parse_step(const Node& node, std::optional<uint16_t> holder, Workflow& workflow, Reading& reading) {
  const std::string& name = node.key;
  const auto index = static_cast<uint16_t>(workflow.steps.size());
  const bool is_twice = std::ranges::any_of(workflow.steps, [&](const Step& other) { return other.name.text == name; });
  Step& step = workflow.steps.emplace_back();
  step.name = {name, node.key_mark};
  step.holder = holder;
  const Section section(node, "step " + in_quotes(fmt::format("{}.{}", workflow.name.text, name)), reading,
                        maps::kStep);
  if (!is_step_name(name)) {
    reading.diagnostics.add(node.place(), {.message = in_quotes(name) + " cannot be the name of a step",
                                           .expected = "1 to 100 letters, digits, _ and -"});
  } else if (is_taken_prefix(name)) {
    reading.diagnostics.add(node.place(),
                            {.message = in_quotes(name) + " cannot be the name of a step",
                             .expected = fmt::format("another name: ${{{}.…}} is a made-up value", name)});
  } else if (is_twice) {
    reading.diagnostics.add(node.place(), {.message = fmt::format("workflow {} has two steps with the name {}",
                                                                  in_quotes(workflow.name.text), in_quotes(name)),
                                           .hint = "give one of the two another name"});
  }
  if (!node.is_map()) return;
  parse_place(section, holder ? std::get_if<Block>(&workflow.steps[*holder].work) : nullptr, step);
  parse_work(section, step);
  if (const Node* when = section.find("if")) step.conditions = parse_conditions(*when, section.where(), reading);
  step.repeat = section.whole("repeat");
  if (const Node* check = section.find("check")) step.checks = parse_checks(*check, section.where(), reading);
  if (const Node* extract = section.find("extract")) step.extracts = parse_extracts(*extract, section.where(), reading);
  if (const Node* think = section.find("think")) step.think = parse_delay(*think, section.what(*think), reading);
  if (const auto choice = section.choice("on_error")) step.on_error = static_cast<OnError>(*choice);
  step.tags = parse_tags(section, true);
  if (const Node* metric = section.find("metric"))
    step.records = parse_records(*metric, section.what(*metric), reading);
  for (const std::string_view key : {"steps", "choose"}) {
    if (const Node* held = section.find(key)) parse_list(*held, section.what(*held), index, workflow, reading);
  }
}

void parse_list(const Node& steps, const std::string& what, std::optional<uint16_t> holder, Workflow& workflow,
                Reading& reading) {
  if (!steps.is_map() || steps.items.empty()) {
    report_wrong(steps, what, "a map of at least one step, such as {home: {http: {get: /}}}", reading);
    return;
  }
  for (const Node& step : steps.items) {
    if (workflow.steps.size() > kMaxSteps) {  // reported for the scenario as a whole
      note_unread(step, reading);
    } else {
      parse_step(step, holder, workflow, reading);
    }
  }
}

}  // namespace

void parse_steps(const Section& section, Workflow& workflow) {
  section.need("steps", "a map of steps such as {home: {http: {get: /}}}");
  if (const Node* steps = section.find("steps")) {
    parse_list(*steps, section.what(*steps), std::nullopt, workflow, section.reading());
  }
}

Code parse_code(const Node& node, const std::string& where, Reading& reading) {
  const Section section(node, fmt::format("{} of {}", in_quotes(node.key), where), reading, maps::kCode);
  Code out;
  if (node.key == "native") out.language = Code::Language::kNative;
  if (!node.is_map()) return out;
  for (const auto& [key, text] : {std::pair<std::string_view, Text*>{"file", &out.file}, {"call", &out.function}}) {
    section.need(key, key == "file" ? "the file of the program" : "the name of a function of the program");
    if (auto value = section.constant(key)) *text = std::move(*value);
  }
  parse_arguments(section, out);
  out.sets = parse_names(section, "sets");
  out.checks = parse_names(section, "checks");
  out.requests = parse_names(section, "requests");
  return out;
}

std::vector<Metric> parse_metrics(const Node& node, Reading& reading) {
  std::vector<Metric> out;
  if (!node.is_map() || node.items.size() > kMaxMetrics) {
    report_wrong(node, "'metrics'", fmt::format("a map of at most {} names and kinds", kMaxMetrics), reading,
                 "such as {orders: counter}");
    return out;
  }
  for (const Node& item : node.items) {
    if (auto metric = parse_metric(item, reading)) out.push_back(std::move(*metric));
  }
  return out;
}

std::vector<Pair> parse_records(const Node& node, const std::string& what, Reading& reading) {
  std::vector<Pair> out;
  if (!node.is_map() || node.items.empty() || node.items.size() > kMaxMetrics) {
    report_wrong(node, what, fmt::format("a map of at most {} metrics and values", kMaxMetrics), reading,
                 "such as {orders: 1}");
    return out;
  }
  for (const Node& item : node.items) {
    auto value = read_text(item, fmt::format("{} in {}", in_quotes(item.key), what), reading);
    if (value) out.push_back({{item.key, item.key_mark}, std::move(*value)});
  }
  return out;
}

bool is_tag_name(std::string_view text) {
  return is_value_name(text) && std::find(kTaken.begin(), kTaken.end(), text) == kTaken.end();
}

bool is_tag_value(std::string_view text) {
  return !text.empty() && text.size() <= kMaxValue && text.find_first_of(",{}") == std::string_view::npos;
}

std::vector<Pair> parse_tags(const Section& section, bool with_group) {
  Reading& reading = section.reading();
  std::vector<Pair> out;
  if (const Node* tags = section.find("tags")) {
    if (!tags->is_map() || tags->items.size() > kMaxTags) {
      report_wrong(*tags, section.what(*tags),
                   fmt::format("a map of at most {} names and texts: {{page: checkout}}", kMaxTags), reading);
      return out;
    }
    for (const Node& item : tags->items) {
      const std::string what = fmt::format("tag {} of {}", in_quotes(item.key), section.where());
      auto value = read_constant(item, what, reading);
      if (!is_tag_name(item.key)) {
        reading.diagnostics.add(item.place(), {.message = in_quotes(item.key) + " cannot be the name of a tag",
                                               .expected = "letters, digits and _, and none of " + join(kTaken)});
      } else if (value && !is_tag_value(value->text)) {
        report_value(*value, what, reading);
      } else if (value) {
        out.push_back({{item.key, item.key_mark}, std::move(*value)});
      }
    }
  }
  const Node* group = with_group ? section.find("group") : nullptr;
  if (group == nullptr) return out;
  auto name = section.constant("group");
  if (name && !is_tag_value(name->text)) {
    report_value(*name, "'group' of " + section.where(), reading);
  } else if (name) {
    out.push_back({{"group", group->key_mark}, std::move(*name)});
  }
  return out;
}

}  // namespace bellwether::scenario
