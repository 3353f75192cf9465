#include "load/scenario/parse.h"
#include "load/scenario/section.h"

namespace bellwether::scenario {
namespace {

void read_steps(const Section& section, Workflow& workflow) {
  Reading& reading = section.reading();
  const Node* steps = section.find("steps");
  if (steps == nullptr) {
    section.report_missing("'steps' is missing in " + section.where(),
                           "a map of steps such as {home: {http: {get: /}}}");
    return;
  }
  if (!steps->is_map() || steps->items.empty()) {
    report_wrong(*steps, section.what(*steps), "a map of at least one step, such as {home: {http: {get: /}}}", reading);
    return;
  }
  for (const Node& step : steps->items) {
    if (workflow.steps.size() == kStepsMax) return;  // reported for the scenario as a whole
    workflow.steps.push_back(parse_step(step, workflow.name.text, reading));
  }
}

// {auth: [token, user]}, or {auth: {token: "what stands for it when there is none"}}.
void read_uses(const Section& section, Workflow& workflow) {
  const Node* uses = section.find("use");
  if (uses == nullptr) return;
  Reading& reading = section.reading();
  if (!uses->is_map()) {
    report_wrong(*uses, section.what(*uses), "a map of workflows and the names of their values: {auth: [token]}",
                 reading);
    return;
  }
  for (const Node& source : uses->items) {
    const Text from{source.key, source.key_mark};
    if (!source.is_map()) {
      for (Text& name : read_texts(source, section.what(source), reading)) {
        workflow.uses.push_back({from, std::move(name), {}});
      }
      continue;
    }
    for (const Node& value : source.items) {
      auto fallback = read_constant(value, section.what(value), reading);
      if (fallback) workflow.uses.push_back({from, {value.key, value.key_mark}, std::move(fallback->text)});
    }
  }
  if (workflow.uses.size() <= kProvidesMax) return;
  report_wrong(*uses, section.what(*uses), "at most " + std::to_string(kProvidesMax) + " values", reading);
  workflow.uses.resize(kProvidesMax);
}

// A text, or {value: TEXT, collect: all}.
std::optional<Provide> read_provide(const Node& value, const std::string& where, Reading& reading) {
  Provide out;
  out.name = {value.key, value.key_mark};
  const std::string what = in_quotes(value.key) + " in " + where;
  if (!value.is_map()) {
    auto text = read_text(value, what, reading);
    if (!text) return std::nullopt;
    out.value = std::move(*text);
    return out;
  }
  const Section section(value, what, reading, maps::kProvide);
  if (section.find("value") == nullptr)
    section.report_missing("'value' is missing in " + section.where(), "a text such as \"${login.token}\"");
  auto text = section.text("value");
  out.collect_all = section.choice("collect") == 1;
  if (text) out.value = std::move(*text);
  return out;
}

// {browse: {token: "${login.token}"}}.
void read_provides(const Section& section, Workflow& workflow) {
  const Node* provides = section.find("provide");
  if (provides == nullptr) return;
  Reading& reading = section.reading();
  static constexpr const char* kShape = "a map of workflows and their values: {browse: {token: \"${login.token}\"}}";
  if (!provides->is_map()) return report_wrong(*provides, section.what(*provides), kShape, reading);
  for (const Node& target : provides->items) {
    if (!target.is_map()) {
      report_wrong(target, section.what(target), kShape, reading);
      continue;
    }
    for (const Node& value : target.items) {
      auto one = read_provide(value, section.where(), reading);
      if (!one) continue;
      one->to = {target.key, target.key_mark};
      workflow.provides.push_back(std::move(*one));
    }
  }
  if (workflow.provides.size() <= kProvidesMax) return;
  report_wrong(*provides, section.what(*provides), "at most " + std::to_string(kProvidesMax) + " values", reading);
  workflow.provides.resize(kProvidesMax);
}

// What binds it to other workflows.
void read_bonds(const Section& section, Workflow& workflow) {
  Reading& reading = section.reading();
  if (const Node* depends = section.find("depends")) {
    workflow.depends = read_texts(*depends, section.what(*depends), reading);
  }
  read_uses(section, workflow);
  read_provides(section, workflow);
  if (const auto choice = section.choice("priority")) workflow.priority = static_cast<Priority>(*choice);
}

}  // namespace

namespace {

void measure_nothing(Workflow& workflow) {
  for (Step& step : workflow.steps) {
    if (auto* http = std::get_if<Http>(&step.work)) http->measured = false;
    if (auto* code = std::get_if<Code>(&step.work)) code->sends = false;
  }
}

}  // namespace

Workflow parse_workflow(const Node& node, bool is_frame, Reading& reading) {
  const std::size_t problems = reading.diagnostics.size();
  Workflow workflow;
  workflow.is_sound = false;
  workflow.name = {node.key, node.key_mark};
  if (!is_step_name(node.key)) {
    reading.diagnostics.add(node.place(), {.message = in_quotes(node.key) + " cannot be the name of a workflow",
                                           .expected = "1 to 100 letters, digits, _ and -"});
  }
  const Section section(node, "workflow " + in_quotes(node.key), reading, maps::kWorkflow);
  if (!node.is_map()) return workflow;
  read_steps(section, workflow);
  if (is_frame) measure_nothing(workflow);
  parse_executor(section, workflow);
  workflow.start_time = section.duration("start_time").value_or(Duration::zero());
  workflow.graceful_stop = section.duration("graceful_stop");
  read_bonds(section, workflow);
  if (const auto choice = section.choice("on_overtime")) workflow.on_overtime = static_cast<OnOvertime>(*choice);
  workflow.tags = parse_tags(section, false);
  workflow.keeps_cookies = section.boolean("keep_cookies").value_or(false);
  workflow.timeout = parse_timeout(section);
  workflow.is_sound = reading.diagnostics.size() == problems;
  return workflow;
}

}  // namespace bellwether::scenario
