#include <array>
#include <cmath>

#include "base/bytes.h"
#include "base/units.h"
#include "scenario/names.h"
#include "scenario/parse.h"

namespace bellwether::scenario {
namespace {

constexpr std::array<std::string_view, 16> kKeys{
    "vus",    "duration", "executor",  "rate", "time_unit", "steps",   "start_time", "graceful_stop",
    "pacing", "max_wait", "rebalance", "use",  "depends",   "provide", "priority",   "on_overtime"};
constexpr std::array<std::string_view, 5> kAliases{"timeUnit", "startTime", "gracefulStop", "preAllocatedVUs",
                                                   "maxVUs"};
constexpr std::array<std::string_view, 8> kLater{"data",      "stages",   "iterations", "maxDuration",
                                                 "startRate", "startVUs", "tags",       "timeout"};
constexpr std::array<std::string_view, 2> kExecutors{"constant-vus", "constant-arrival-rate"};
constexpr std::array<std::string_view, 5> kExecutorsLater{"ramping-vus", "shared-iterations", "per-vu-iterations",
                                                          "ramping-arrival-rate", "externally-controlled"};
constexpr std::array<std::string_view, 5> kPriorities{"auto", "low", "normal", "high", "exclusive"};
constexpr std::size_t kArrivalRateChoice = 1;
constexpr Range kVusRange{.low = 1, .high = kVusMax};

bool has_http(const Workflow& workflow) {
  for (const Step& step : workflow.steps) {
    if (!std::holds_alternative<std::vector<Pair>>(step.work)) return true;
  }
  return false;
}

void report_missing(const Section& section, std::string_view key, std::string expected) {
  section.report_missing(in_quotes(key) + " is missing in " + section.where(), std::move(expected));
}

void refuse(const Section& section, std::initializer_list<std::string_view> keys, const std::string& why) {
  for (const std::string_view key : keys) {
    const Node* node = section.find(key);
    if (node == nullptr) continue;
    section.reading().diagnostics.add(node->place(), {.message = section.what(*node) + " has no effect: " + why});
  }
}

Duration read_run_time(const Section& section) {
  if (section.find("duration") == nullptr) {
    report_missing(section, "duration", "a duration such as 250ms, 30s or 1h30m");
    return Duration::seconds(1);
  }
  const Duration duration = section.duration("duration").value_or(Duration::seconds(1));
  if (duration <= Duration::zero()) {
    const Node* node = section.find("duration");
    report_wrong(*node, section.what(*node), "a duration longer than 0", section.reading());
  }
  return duration;
}

// "500/s", or k6's pair of a number and a time unit.
double read_rate(const Section& section) {
  const Node* node = section.find("rate");
  Reading& reading = section.reading();
  if (node == nullptr) {
    report_missing(section, "rate", "a rate such as 500/s or 30/m");
    return 1;
  }
  const auto text = read_constant(*node, section.what(*node), reading);
  if (!text) return 1;
  Result<double> rate = parse_rate(text->text);
  if (const auto unit = section.duration("time_unit", "timeUnit"); unit && rate) {
    const bool has_unit = text->text.find('/') != std::string::npos;
    if (has_unit || *unit <= Duration::zero()) {
      const Node* unit_node = section.find("time_unit", "timeUnit");
      report_wrong(*unit_node, section.what(*unit_node),
                   has_unit ? "no time unit, since the rate has one" : "a duration longer than 0", reading);
      return 1;
    }
    *rate /= unit->seconds_f();
  }
  if (rate && *rate > 0 && *rate <= kRateMax) return *rate;
  report_wrong(*node, section.what(*node), "a rate above 0 and up to 10000000/s, such as 500/s or 30/m", reading);
  return 1;
}

ConstantVus read_constant_vus(const Section& section) {
  ConstantVus out;
  if (section.find("vus") == nullptr) {
    report_missing(section, "vus", "the number of virtual users, such as 10");
  }
  out.vus = static_cast<uint32_t>(section.whole("vus", kVusRange).value_or(1));
  out.duration = read_run_time(section);
  out.pacing = section.duration("pacing");
  refuse(section, {"max_wait", "preAllocatedVUs", "maxVUs", "time_unit", "timeUnit", "rate", "rebalance"},
         "the executor is constant-vus");
  return out;
}

ConstantArrivalRate read_constant_arrival_rate(const Section& section) {
  Reading& reading = section.reading();
  ConstantArrivalRate out;
  out.rate_per_s = read_rate(section);
  out.duration = read_run_time(section);
  out.wait_max = section.duration("max_wait").value_or(Duration::zero());
  out.rebalance = section.boolean("rebalance").value_or(false);
  refuse(section, {"pacing"}, "the executor is constant-arrival-rate");
  std::optional<uint64_t> preallocated = section.whole("preAllocatedVUs", kVusRange);
  std::optional<uint64_t> max = section.whole("maxVUs", kVusRange);
  const Node* vus = section.find("vus");
  if (vus == nullptr && !preallocated) {
    report_missing(section, "vus", "{preallocated: N, max: N}, or one number for both");
    return out;
  }
  const Node* place = vus != nullptr ? vus : section.find("preAllocatedVUs");
  if (vus != nullptr && (section.find("preAllocatedVUs") != nullptr || section.find("maxVUs") != nullptr)) {
    reading.diagnostics.add(vus->place(),
                            {.message = section.what(*vus) + " means the same as 'preAllocatedVUs' and 'maxVUs'",
                             .hint = "remove one of them"});
  } else if (vus != nullptr && vus->is_map()) {
    static constexpr std::array<std::string_view, 2> kVusKeys{"preallocated", "max"};
    const Section pool(*vus, section.what(*vus), reading, {kVusKeys});
    preallocated = pool.whole("preallocated", kVusRange);
    max = pool.whole("max", kVusRange);
    if (pool.find("preallocated") == nullptr) preallocated = max;
  } else if (vus != nullptr) {
    preallocated = read_whole(*vus, section.what(*vus), kVusRange, reading);
  }
  out.vus_preallocated = static_cast<uint32_t>(preallocated.value_or(1));
  out.vus_max = static_cast<uint32_t>(max.value_or(out.vus_preallocated));
  if (out.vus_max < out.vus_preallocated) {
    reading.diagnostics.add(
        place->place(),
        {.message = section.where() + " may use fewer virtual users than it prepares",
         .found = std::to_string(out.vus_preallocated) + " prepared, at most " + std::to_string(out.vus_max),
         .expected = "a maximum of at least the number prepared"});
  }
  return out;
}

void read_executor(const Section& section, Workflow& workflow) {
  Reading& reading = section.reading();
  const Node* named = section.find("executor");
  std::optional<std::size_t> choice;
  if (named != nullptr) {
    choice = read_choice(*named, section.what(*named), kExecutors, kExecutorsLater, reading);
    if (!choice) return;
  }
  if (!workflow.steps.empty() && !has_http(workflow)) {
    refuse(section,
           {"executor", "duration", "rate", "time_unit", "timeUnit", "pacing", "max_wait", "preAllocatedVUs", "maxVUs",
            "rebalance"},
           "a workflow without an http step runs once");
    return;
  }
  const bool is_open = choice ? *choice == kArrivalRateChoice : section.find("rate") != nullptr;
  if (is_open) {
    workflow.executor = read_constant_arrival_rate(section);
  } else {
    workflow.executor = read_constant_vus(section);
  }
}

void read_steps(const Section& section, Workflow& workflow) {
  Reading& reading = section.reading();
  const Node* steps = section.find("steps");
  if (steps == nullptr) {
    report_missing(section, "steps", "a map of steps such as {home: {http: {get: /}}}");
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
  static constexpr std::array<std::string_view, 2> kProvideKeys{"value", "collect"};
  static constexpr std::array<std::string_view, 2> kCollects{"one", "all"};
  const Section section(value, what, reading, {kProvideKeys});
  if (section.find("value") == nullptr) report_missing(section, "value", "a text such as \"${login.token}\"");
  auto text = section.text("value");
  if (const Node* collect = section.find("collect")) {
    const auto choice = read_choice(*collect, section.what(*collect), kCollects, {}, reading);
    out.collect_all = choice && *choice == 1;
  }
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
  if (const Node* priority = section.find("priority")) {
    const auto choice = read_choice(*priority, section.what(*priority), kPriorities, {}, reading);
    if (choice) workflow.priority = static_cast<Priority>(*choice);
  }
}

}  // namespace

Workflow parse_workflow(const Node& node, Reading& reading) {
  const std::size_t problems = reading.diagnostics.size();
  Workflow workflow;
  workflow.is_sound = false;
  workflow.name = {node.key, node.key_mark};
  if (!is_step_name(node.key)) {
    reading.diagnostics.add(node.place(), {.message = in_quotes(node.key) + " cannot be the name of a workflow",
                                           .expected = "1 to 100 letters, digits, _ and -"});
  }
  const Section section(node, "workflow " + in_quotes(node.key), reading, {kKeys, kLater, kAliases});
  if (!node.is_map()) return workflow;
  read_steps(section, workflow);
  read_executor(section, workflow);
  workflow.start_time = section.duration("start_time", "startTime").value_or(Duration::zero());
  workflow.graceful_stop = section.duration("graceful_stop", "gracefulStop");
  read_bonds(section, workflow);
  if (const Node* on_overtime = section.find("on_overtime")) {
    static constexpr std::array<std::string_view, 3> kChoices{"kill", "pause", "notify"};
    const auto choice = read_choice(*on_overtime, "'on_overtime'", kChoices, {}, reading);
    if (choice) workflow.on_overtime = static_cast<OnOvertime>(*choice);
  }
  workflow.is_sound = reading.diagnostics.size() == problems;
  return workflow;
}

}  // namespace bellwether::scenario
