// The executors: the keys of each, and their values.
#include <algorithm>
#include <array>

#include "core/base/bytes.h"
#include "core/base/units.h"
#include "load/scenario/parse.h"
#include "load/scenario/section.h"

namespace bellwether::scenario {

namespace {

// {auth: [token, user]}, or {auth: {token: "its fallback"}}.
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
  if (workflow.uses.size() <= kMaxProvides) return;
  report_wrong(*uses, section.what(*uses), fmt::format("at most {} values", kMaxProvides), reading);
  workflow.uses.resize(kMaxProvides);
}

// A text, or {value: TEXT, collect: all}.
std::optional<Provide> read_provide(const Node& value, const std::string& where, Reading& reading) {
  Provide out;
  out.name = {value.key, value.key_mark};
  const std::string what = fmt::format("{} in {}", in_quotes(value.key), where);
  if (!value.is_map()) {
    auto text = read_text(value, what, reading);
    if (!text) return std::nullopt;
    out.value = std::move(*text);
    return out;
  }
  const Section section(value, what, reading, maps::kProvide);
  section.need("value", "a text such as \"${login.token}\"");
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
  if (workflow.provides.size() <= kMaxProvides) return;
  report_wrong(*provides, section.what(*provides), fmt::format("at most {} values", kMaxProvides), reading);
  workflow.provides.resize(kMaxProvides);
}

// The dependencies on other workflows.
void read_dependencies(const Section& section, Workflow& workflow) {
  Reading& reading = section.reading();
  if (const Node* depends = section.find("depends")) {
    workflow.depends = read_texts(*depends, section.what(*depends), reading);
  }
  read_uses(section, workflow);
  read_provides(section, workflow);
  if (const auto choice = section.choice("priority")) workflow.priority = static_cast<Priority>(*choice);
}

// In the order of the table of keys.
enum class Executor : unsigned char {
  kConstantVus,
  kRampingVus,
  kSharedIterations,
  kPerVuIterations,
  kConstantRate,
  kRampingRate,
  kExternal
};
constexpr Range kVusRange{.low = 1, .high = kMaxVus};

bool has_http(const Workflow& workflow) { return std::ranges::any_of(workflow.steps, is_test_step); }

const Kind& kind_of(Executor executor) { return maps::kWorkflow.kinds[static_cast<std::size_t>(executor)]; }

bool has(Names names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

// Those that only some executors read.
bool is_of_executors(std::string_view key) {
  const auto& kinds = maps::kWorkflow.kinds;
  return std::ranges::any_of(kinds, [&](const Kind& kind) { return has(kind.keys, key); });
}

void refuse_all_but(const Section& section, Names read, const std::string& why) {
  for (const Key& key : maps::kWorkflow.keys) {
    if (!is_of_executors(key.name) || has(read, key.name)) continue;
    if (const Node* node = section.find(key.name)) section.report_useless(*node, why);
  }
}

// Above 0.
Duration read_time(const Section& section, std::string_view key, Duration otherwise) {
  const Node* node = section.find(key);
  if (node == nullptr) return otherwise;
  const Duration span = section.duration(key).value_or(Duration::seconds(1));
  if (span > Duration::zero()) return span;
  report_wrong(*node, section.what(*node), "a duration longer than 0", section.reading());
  return otherwise;
}

Duration read_run_time(const Section& section) {
  section.need("duration", "a duration such as 250ms, 30s or 1h30m");
  return read_time(section, "duration", Duration::seconds(1));
}

uint32_t read_vus(const Section& section) {
  section.need("vus", "the number of virtual users, such as 10");
  return static_cast<uint32_t>(section.whole("vus", kVusRange).value_or(1));
}

// "500/s", or k6's pair of a number and a time unit.
double read_rate(const Node& node, const Section& section, bool zero_too) {
  Reading& reading = section.reading();
  const auto text = read_constant(node, section.what(node), reading);
  if (!text) return 1;
  Result<double> rate = parse_rate(text->text);
  if (const auto unit = section.duration("time_unit"); unit && rate) {
    const bool has_unit = text->text.find('/') != std::string::npos;
    if (has_unit || *unit <= Duration::zero()) {
      const Node* unit_node = section.find("time_unit");
      report_wrong(*unit_node, section.what(*unit_node),
                   has_unit ? "no time unit, since the rate has one" : "a duration longer than 0", reading);
      return 1;
    }
    *rate /= unit->seconds_f();
  }
  if (rate && (*rate > 0 || (zero_too && *rate == 0)) && *rate <= kMaxRate) return *rate;
  report_wrong(node, section.what(node),
               fmt::format("a rate {} up to 10000000/s, such as 500/s or 30/m", zero_too ? "from 0" : "above 0 and"),
               reading);
  return 1;
}

// Hands each stage's map to `read`, which takes its target; and checks the common keys of all stages.
template <class Read>
void read_stages(const Section& section, Read read) {
  Reading& reading = section.reading();
  const Node* stages = section.find("stages");
  if (stages == nullptr) return section.need("stages", "a list such as [{duration: 30s, target: 100}]");
  if (!stages->is_list() || stages->items.empty() || stages->items.size() > kMaxStages) {
    return report_wrong(*stages, section.what(*stages),
                        fmt::format("a list of 1 to {} stages: [{{duration: 30s, target: 100}}]", kMaxStages), reading);
  }
  Duration sum;
  for (const Node& one : stages->items) {
    const Section stage(one, "a stage of " + section.where(), reading, maps::kStage);
    if (!one.is_map()) continue;
    const Node* target = stage.find("target");
    stage.need("duration", "a duration; 0s: at once");
    stage.need("target", "the number of users, or the rate, at its end");
    const Duration duration = stage.duration("duration").value_or(Duration::seconds(1));
    if (duration > kLongestDuration - sum) {
      return report_wrong(*stages, section.what(*stages), "stages that take at most a year together", reading);
    }
    sum += duration;
    if (target != nullptr) read(stage, *target, duration);
  }
  if (sum > Duration::zero()) return;
  report_wrong(*stages, section.what(*stages), "stages that take longer than 0 together", reading);
}

std::optional<Delay> read_pacing(const Section& section) {
  const Node* node = section.find("pacing");
  return node == nullptr ? std::nullopt : parse_delay(*node, section.what(*node), section.reading());
}

RampingVus read_ramping_vus(const Section& section) {
  RampingVus out;
  out.start_vus = static_cast<uint32_t>(section.whole("start_vus").value_or(1));
  out.graceful_ramp_down = section.duration("graceful_ramp_down").value_or(out.graceful_ramp_down);
  out.pacing = read_pacing(section);
  read_stages(section, [&](const Section& stage, const Node&, Duration duration) {
    const auto target = stage.whole("target");
    out.stages.push_back({duration, static_cast<uint32_t>(target.value_or(0))});
  });
  return out;
}

Iterations read_iterations(const Section& section, bool shared) {
  Iterations out;
  out.shared = shared;
  out.vus = section.find("vus") == nullptr ? 1 : read_vus(section);
  out.iterations = section.whole("iterations").value_or(1);
  const Node* max = section.find("max_duration");
  if (max != nullptr) out.max_duration = read_time(section, "max_duration", Duration::seconds(1));
  if (shared && section.find("iterations") != nullptr && out.iterations < out.vus) {
    const Node* node = section.find("iterations");
    section.reading().diagnostics.add(
        node->place(), {.message = section.where() + " shares fewer iterations than it has virtual users",
                        .found = fmt::format("{} iterations, {} users", out.iterations, out.vus),
                        .expected = "at least one iteration for each of them",
                        .hint = "per-vu-iterations gives each user as many"});
  }
  return out;
}

ArrivalUsers read_arrival_users(const Section& section) {
  Reading& reading = section.reading();
  ArrivalUsers out;
  out.wait_max = section.duration("max_wait").value_or(Duration::zero());
  out.rebalance = section.boolean("rebalance").value_or(false);
  std::optional<uint64_t> preallocated = section.whole("preAllocatedVUs");
  std::optional<uint64_t> max = section.whole("max_vus");
  const Node* vus = section.find("vus");
  if (vus == nullptr && !preallocated) {
    section.need("vus", "{preallocated: N, max: N}, or one number for both");
    return out;
  }
  const Node* place = vus != nullptr ? vus : section.find("preAllocatedVUs");
  if (vus != nullptr && (section.find("preAllocatedVUs") != nullptr || section.find("max_vus") != nullptr)) {
    reading.diagnostics.add(vus->place(),
                            {.message = section.what(*vus) + " means the same as 'preAllocatedVUs' and 'maxVUs'",
                             .hint = "remove one of them"});
  } else if (vus != nullptr && vus->is_map()) {
    const Section pool(*vus, section.what(*vus), reading, maps::kUsers);
    preallocated = pool.whole("preallocated");
    max = pool.whole("max");
    if (pool.find("preallocated") == nullptr) preallocated = max;
  } else if (vus != nullptr) {
    preallocated = read_whole(*vus, section.what(*vus), kVusRange, reading);
  }
  out.preallocated = static_cast<uint32_t>(preallocated.value_or(1));
  out.most = static_cast<uint32_t>(max.value_or(out.preallocated));
  if (out.most < out.preallocated) {
    reading.diagnostics.add(place->place(),
                            {.message = section.where() + " may use fewer virtual users than it prepares",
                             .found = fmt::format("{} prepared, at most {}", out.preallocated, out.most),
                             .expected = "a maximum of at least the number prepared"});
  }
  return out;
}

ConstantArrivalRate read_constant_rate(const Section& section) {
  ConstantArrivalRate out;
  section.need("rate", "a rate such as 500/s or 30/m");
  if (const Node* rate = section.find("rate")) out.rate_per_s = read_rate(*rate, section, false);
  out.duration = read_run_time(section);
  out.users = read_arrival_users(section);
  return out;
}

RampingArrivalRate read_ramping_rate(const Section& section) {
  RampingArrivalRate out;
  const Node* start = section.find("start_rate");
  if (start != nullptr) out.start_per_s = read_rate(*start, section, true);
  double most = out.start_per_s;
  // Targets are in the time unit of the workflow.
  read_stages(section, [&](const Section&, const Node& target, Duration duration) {
    out.stages.push_back({duration, read_rate(target, section, true)});
    most = std::max(most, out.stages.back().target_per_s);
  });
  if (most == 0 && !out.stages.empty()) {
    const Node* stages = section.find("stages");
    report_wrong(*stages, section.what(*stages), "a target above 0", section.reading());
  }
  out.users = read_arrival_users(section);
  return out;
}

ExternallyControlled read_external(const Section& section) {
  ExternallyControlled out;
  out.vus = section.find("vus") == nullptr ? 1 : static_cast<uint32_t>(section.whole("vus").value_or(1));
  const auto most = section.whole("max_vus");
  out.vus_most = static_cast<uint32_t>(most.value_or(std::max<uint32_t>(out.vus, 1)));
  // k6 writes 0 for a workflow that only a command ends.
  out.duration = section.duration("duration");
  if (out.duration && *out.duration <= Duration::zero()) out.duration.reset();
  out.graceful_ramp_down = section.duration("graceful_ramp_down").value_or(out.graceful_ramp_down);
  out.pacing = read_pacing(section);
  if (const Node* node = section.find("max_vus"); node != nullptr && most && out.vus_most < out.vus) {
    section.reading().diagnostics.add(node->place(),
                                      {.message = section.where() + " begins with more virtual users than there may be",
                                       .found = fmt::format("{} at its begin, at most {}", out.vus, out.vus_most),
                                       .expected = "a maximum of at least the number at the begin"});
  }
  return out;
}

Executor usual_executor(const Section& section) {
  if (section.find("rate") != nullptr) return Executor::kConstantRate;
  if (section.find("start_rate") != nullptr) return Executor::kRampingRate;
  if (section.find("stages") != nullptr) return Executor::kRampingVus;
  if (section.find("iterations") != nullptr) return Executor::kSharedIterations;
  return Executor::kConstantVus;
}

void measure_nothing(Workflow& workflow) {
  for (Step& step : workflow.steps) {
    if (auto* http = std::get_if<Http>(&step.work)) http->measured = false;
    if (auto* code = std::get_if<Code>(&step.work)) code->sends = false;
  }
}

}  // namespace

Workflow parse_workflow(const Node& node, bool is_frame, Reading& reading) {
  const std::size_t problems = reading.diagnostics.reported();
  Workflow workflow;
  workflow.is_sound = false;
  workflow.name = {node.key, node.key_mark};
  if (!is_step_name(node.key)) {
    reading.diagnostics.add(node.place(), {.message = in_quotes(node.key) + " cannot be the name of a workflow",
                                           .expected = "1 to 100 letters, digits, _ and -"});
  }
  const Section section(node, "workflow " + in_quotes(node.key), reading, maps::kWorkflow);
  if (!node.is_map()) return workflow;
  parse_steps(section, workflow);
  if (is_frame) measure_nothing(workflow);
  parse_executor(section, workflow);
  workflow.start_time = section.duration("start_time").value_or(Duration::zero());
  workflow.graceful_stop = section.duration("graceful_stop");
  read_dependencies(section, workflow);
  if (const auto choice = section.choice("on_overtime")) workflow.on_overtime = static_cast<OnOvertime>(*choice);
  workflow.tags = parse_tags(section, false);
  workflow.keeps_cookies = section.boolean("keep_cookies").value_or(false);
  workflow.keeps_connections = section.boolean("keep_connections").value_or(true);
  workflow.timeout = parse_timeout(section);
  workflow.is_sound = reading.diagnostics.reported() == problems;
  return workflow;
}

void parse_executor(const Section& section, Workflow& workflow) {
  Executor executor = usual_executor(section);
  if (section.find("executor") != nullptr) {
    const auto choice = section.choice("executor");
    if (!choice) return;
    executor = static_cast<Executor>(*choice);
  }
  if (!workflow.steps.empty() && !has_http(workflow)) {
    const std::string why = "a workflow without an http step runs once";
    static constexpr std::array<std::string_view, 1> kVus{"vus"};
    refuse_all_but(section, kVus, why);
    if (const Node* named = section.find("executor")) section.report_useless(*named, why);
    return;
  }
  refuse_all_but(section, kind_of(executor).keys, "the executor is " + std::string(kind_of(executor).name));
  switch (executor) {
    case Executor::kConstantVus:
      workflow.executor = ConstantVus{read_vus(section), read_run_time(section), read_pacing(section)};
      break;
    case Executor::kRampingVus: workflow.executor = read_ramping_vus(section); break;
    case Executor::kSharedIterations: workflow.executor = read_iterations(section, true); break;
    case Executor::kPerVuIterations: workflow.executor = read_iterations(section, false); break;
    case Executor::kConstantRate: workflow.executor = read_constant_rate(section); break;
    case Executor::kRampingRate: workflow.executor = read_ramping_rate(section); break;
    case Executor::kExternal: workflow.executor = read_external(section); break;
  }
}

}  // namespace bellwether::scenario
