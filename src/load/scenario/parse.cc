// The whole scenario file, and its files of data, whose rows iterations take: {users: {csv: users.csv, pick:
// unique-per-vu}}.
#include "load/scenario/parse.h"

#include <algorithm>

#include "core/base/overloaded.h"

namespace bellwether::scenario {

namespace {

// The workflows of the scenario in order: setup first, teardown last.
std::vector<const Node*> in_order(const Section& file, const Node& workflows) {
  std::vector<const Node*> out;
  if (const Node* setup = file.find("setup")) out.push_back(setup);
  for (const Node& node : workflows.items) {
    if ((node.key != "setup" && node.key != "teardown") || file.find(node.key) == nullptr) {
      out.push_back(&node);
      continue;
    }
    file.reading().diagnostics.add(
        node.place(), {.message = fmt::format("{} is there twice: beside 'workflows', and as the name of one of them",
                                              in_quotes(node.key)),
                       .hint = "choose another name"});
  }
  if (const Node* teardown = file.find("teardown")) out.push_back(teardown);
  return out;
}

// All other workflows come after the setup, and before the teardown.
void bind_frame(const Section& file, Scenario& scenario) {
  std::vector<Workflow>& all = scenario.workflows;
  const auto add = [](Workflow& to, const Text& name) {
    const bool known = std::ranges::any_of(to.depends, [&](const Text& one) { return one.text == name.text; });
    if (!known) to.depends.push_back(name);
  };
  if (file.find("setup") != nullptr) {
    for (std::size_t i = 1; i < all.size(); ++i) add(all[i], all.front().name);
  }
  if (file.find("teardown") == nullptr || all.empty() || all.back().name.text != "teardown") return;
  for (std::size_t i = 0; i + 1 < all.size(); ++i) add(all.back(), all[i].name);
  all.back().is_teardown = true;
}

void parse_workflows(const Section& file, Scenario& scenario) {
  Reading& reading = file.reading();
  const Node* workflows = file.find("workflows");
  if (workflows == nullptr) return file.need("workflows", "a map of workflows");
  if (!workflows->is_map() || workflows->items.empty()) {
    report_wrong(*workflows, file.what(*workflows), "a map of at least one workflow", reading);
    return;
  }
  if (workflows->items.size() > kMaxWorkflows) {
    report_wrong(*workflows, file.what(*workflows), fmt::format("at most {} workflows", kMaxWorkflows), reading);
    return;
  }
  std::size_t steps = 0;
  std::size_t checks = 0;
  bool too_large = false;
  for (const Node* node : in_order(file, *workflows)) {
    if (too_large) {
      // Not read, but no unknown workflow.
      note_unread(*node, reading);
      scenario.workflows.emplace_back().name = {node->key, node->key_mark};
      scenario.workflows.back().is_sound = false;
      continue;
    }
    const bool is_frame = node == file.find("setup") || node == file.find("teardown");
    scenario.workflows.push_back(parse_workflow(*node, is_frame, reading));
    const Workflow& workflow = scenario.workflows.back();
    steps += workflow.steps.size();
    for (const Step& step : workflow.steps) {
      checks += step.checks.size();
      if (const auto* code = std::get_if<Code>(&step.work)) steps += code->requests.size();
    }
    too_large = steps > kMaxSteps || checks > kMaxChecks;
    if (!too_large) continue;
    scenario.workflows.back().is_sound = false;  // it may have steps that were not read
    reading.diagnostics.add(
        node->place(), {.message = "the scenario is too large",
                        .expected = fmt::format("at most {} steps, with the names of their requests, and {} checks",
                                                kMaxSteps, kMaxChecks)});
  }
}

// A string, or {threshold: …, abortOnFail: …, delayAbortEval: …}.
std::optional<Threshold> parse_threshold(const Node& node, const Text& metric, Reading& reading) {
  Threshold out;
  out.metric = metric;
  const std::string where = "the thresholds of " + in_quotes(metric.text);
  if (!node.is_map()) {
    auto expression = read_constant(node, where, reading);
    if (!expression) return std::nullopt;
    out.expression = std::move(*expression);
    return out;
  }
  const Section section(node, where, reading, maps::kThreshold);
  auto expression = section.constant("threshold");
  out.abort_on_fail = section.boolean("abort_on_fail").value_or(false);
  out.delay_abort_eval = section.duration("delay_abort_eval").value_or(Duration::zero());
  section.need("threshold", "an expression such as p(95)<300");
  if (!expression) return std::nullopt;
  out.expression = std::move(*expression);
  return out;
}

void read_path(const Section& section, Feeder& feeder) {
  Reading& reading = section.reading();
  const Names formats = maps::kData.exactly_one;  // as in DataFormat
  const std::vector<const Node*> given = section.given(formats);
  if (given.empty()) {
    return section.report_missing(section.where() + " names no file", "csv: FILE, json: FILE or jsonl: FILE");
  }
  const Node& first = *given.front();
  feeder.format = static_cast<DataFormat>(std::find(formats.begin(), formats.end(), first.key) - formats.begin());
  if (auto path = section.constant(first.key)) feeder.path = std::move(*path);
  if (given.size() > 1) {
    reading.diagnostics.add(given[1]->place(),
                            {.message = fmt::format("{} contradicts {}", section.what(*given[1]), in_quotes(first.key)),
                             .hint = "data comes from one file: remove one of them"});
  } else if (first.is_scalar() && first.text.empty()) {
    report_wrong(first, section.what(first), "the path of a file", reading);
  }
}

void read_delimiter(const Section& section, Feeder& feeder) {
  const Node* node = section.find("delimiter");
  if (node == nullptr) return;
  Reading& reading = section.reading();
  const auto text = section.constant("delimiter");
  if (!text) return;
  if (feeder.format != DataFormat::kCsv) {
    return section.report_useless(*node, "it is for 'csv'");
  }
  const std::string delimiter = text->text == "tab" ? "\t" : text->text;
  const char c = delimiter.size() == 1 ? delimiter.front() : '\0';
  if ((c < 0x20 && c != '\t') || c == '"' || c == 0x7f) {
    report_wrong(*node, section.what(*node), "one character of ASCII such as \";\", and no quote, or tab", reading);
    return;
  }
  feeder.delimiter = c;
}

Feeder parse_feeder(const Node& node, Reading& reading) {
  Feeder feeder;
  feeder.name = {node.key, node.key_mark};
  const Section section(node, "the data " + in_quotes(node.key), reading, maps::kData);
  if (!node.is_map()) return feeder;
  read_path(section, feeder);
  read_delimiter(section, feeder);
  if (const auto choice = section.choice("pick")) feeder.pick = static_cast<RowPick>(*choice);
  feeder.wrap = section.boolean("wrap").value_or(false);
  if (feeder.wrap && feeder.pick != RowPick::kUniquePerVu) {
    section.report_useless(*section.find("wrap"), "it is for 'pick: unique-per-vu'");
  }
  feeder.ends = section.choice("at_end").value_or(0) == 1;
  if (feeder.ends && feeder.pick != RowPick::kSequential) {
    section.report_useless(*section.find("at_end"), "it is for 'pick: sequential'");
  }
  return feeder;
}

}  // namespace

std::vector<Threshold> parse_thresholds(const Node& node, Reading& reading) {
  std::vector<Threshold> out;
  if (!node.is_map()) {
    report_wrong(node, "'thresholds'", "a map of metrics and lists of expressions", reading);
    return out;
  }
  for (const Node& metric : node.items) {
    const Text name{metric.key, metric.key_mark};
    if (metric.is_list() && metric.items.empty()) {
      report_wrong(metric, "the thresholds of " + in_quotes(metric.key), "an expression such as p(95)<300", reading);
    }
    const std::size_t count = metric.is_list() ? metric.items.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      if (out.size() == kMaxThresholds) {
        report_wrong(node, "'thresholds'", fmt::format("at most {} thresholds", kMaxThresholds), reading);
        return out;
      }
      auto threshold = parse_threshold(metric.is_list() ? metric.items[i] : metric, name, reading);
      if (threshold) out.push_back(std::move(*threshold));
    }
  }
  return out;
}

Scenario parse_scenario(const Node& root, std::string default_name, Reading& reading) {
  Scenario scenario;
  scenario.name = std::move(default_name);
  if (root.is_null()) {
    reading.diagnostics.add({1, 1}, {.message = "the scenario is empty", .expected = "a map with the key 'workflows'"});
    return scenario;
  }
  const Section file(root, "the scenario", reading, maps::kScenario);
  if (!root.is_map()) return scenario;
  if (auto name = file.constant("name")) scenario.name = std::move(name->text);
  if (const Node* defaults = file.find("defaults")) {
    const Section section(*defaults, "'defaults'", reading, maps::kDefaults);
    if (const Node* http = section.find("http")) scenario.http = parse_http_defaults(*http, reading);
  }
  if (const Node* data = file.find("data")) scenario.data = parse_data(*data, reading);
  if (const Node* metrics = file.find("metrics")) scenario.metrics = parse_metrics(*metrics, reading);
  scenario.is_sound = reading.diagnostics.empty();
  parse_workflows(file, scenario);
  bind_frame(file, scenario);
  if (const Node* thresholds = file.find("thresholds")) scenario.thresholds = parse_thresholds(*thresholds, reading);
  if (const auto choice = file.choice("on_loss")) scenario.on_loss = static_cast<OnLoss>(*choice);
  scenario.timeout = parse_timeout(file);
  return scenario;
}

std::optional<Duration> parse_timeout(const Section& section) {
  const Node* node = section.find("timeout");
  if (node == nullptr) return std::nullopt;
  auto timeout = section.duration("timeout");
  if (timeout && *timeout <= Duration::zero()) {
    report_wrong(*node, section.what(*node), "more than 0, such as 2h", section.reading());
  }
  return timeout;
}

namespace {

// A course keeps its shape, and gets this length.
template <class Stages>
void fit_into(Duration length, Stages& stages) {
  Duration sum;
  for (const auto& stage : stages) sum += stage.duration;
  if (sum <= Duration::zero()) return;  // was reported
  const double factor = length.seconds_f() / sum.seconds_f();
  for (auto& stage : stages) stage.duration = Duration::from_seconds_f(stage.duration.seconds_f() * factor);
}

// Replaces the executor by that of the command line.
void put_load(const Overrides& overrides, Workflow& workflow) {
  const NewLoad& load = overrides.load;
  if (load.of_rates && !load.stages.empty()) {
    RampingArrivalRate rising{
        overrides.rate_per_s.value_or(0), {}, {.preallocated = kUsersOfRate, .most = kUsersOfRate}};
    std::visit(Overloaded{[](const auto&) {}, [&](const ConstantArrivalRate& open) { rising.users = open.users; },
                          [&](const RampingArrivalRate& open) { rising.users = open.users; }},
               workflow.executor);
    for (const NewLoad::Stage& stage : load.stages) rising.stages.push_back({stage.duration, stage.target});
    workflow.executor = std::move(rising);
  } else if (!load.stages.empty()) {
    RampingVus course{.start_vus = overrides.vus.value_or(1), .stages = {}, .pacing = {}};
    for (const NewLoad::Stage& stage : load.stages) {
      course.stages.push_back({stage.duration, static_cast<uint32_t>(std::min<double>(stage.target, kMaxVus))});
    }
    workflow.executor = std::move(course);
  } else if (load.iterations) {
    const auto* counted = std::get_if<Iterations>(&workflow.executor);
    Iterations out = counted == nullptr ? Iterations{} : *counted;
    out.iterations = *load.iterations;
    workflow.executor = out;
  }
}

}  // namespace

void apply_overrides(const Overrides& overrides, Scenario& scenario, Diagnostics& diagnostics) {
  if (overrides.timeout) scenario.timeout = overrides.timeout;
  scenario.tags = overrides.tags;
  for (const auto& [name, place] : overrides.hosts) scenario.http.hosts.push_back({{name, {}}, {place, {}}});
  if (!overrides.local_ips.empty()) scenario.http.local_ips = {{overrides.local_ips, {}}};
  bool took_load = false;
  bool took_vus = false;
  bool took_duration = false;
  bool took_rate = false;
  for (Workflow& workflow : scenario.workflows) {
    if (!std::holds_alternative<Once>(workflow.executor)) {
      put_load(overrides, workflow);
      took_load = true;
    }
    const auto use = [&](auto& users) {
      took_vus = true;
      users.preallocated = overrides.vus.value_or(users.preallocated);
      users.most = overrides.vus.value_or(users.most);
    };
    const auto shape = [&](auto& stages) {
      took_duration = true;
      if (overrides.duration) fit_into(*overrides.duration, stages);
    };
    std::visit(Overloaded{[](const Once&) {},
                          [&](ConstantVus& closed) {
                            took_vus = took_duration = true;
                            closed.vus = overrides.vus.value_or(closed.vus);
                            closed.duration = overrides.duration.value_or(closed.duration);
                          },
                          [&](RampingVus& course) {
                            took_vus |= !overrides.load.stages.empty();
                            shape(course.stages);
                          },
                          [&](Iterations& counted) {
                            took_vus = took_duration = true;
                            counted.vus = overrides.vus.value_or(counted.vus);
                            // Users beyond the shared iterations would have none.
                            if (counted.shared && overrides.load.iterations && counted.vus > counted.iterations) {
                              counted.vus = static_cast<uint32_t>(counted.iterations);
                            }
                            if (overrides.duration) counted.max_duration = overrides.duration;
                          },
                          [&](ConstantArrivalRate& open) {
                            use(open.users);
                            took_duration = took_rate = true;
                            open.duration = overrides.duration.value_or(open.duration);
                            open.rate_per_s = overrides.rate_per_s.value_or(open.rate_per_s);
                          },
                          [&](RampingArrivalRate& rising) {
                            use(rising.users);
                            took_rate |= overrides.load.of_rates;
                            shape(rising.stages);
                          },
                          [&](ExternallyControlled& told) {
                            took_vus = took_duration = true;
                            told.vus = overrides.vus.value_or(told.vus);
                            told.vus_most = std::max(told.vus_most, told.vus);
                            if (overrides.duration) told.duration = overrides.duration;
                          }},
               workflow.executor);
  }
  const auto refuse = [&](bool given, bool taken, const std::string& flag, std::string need) {
    if (!given || taken) return;
    diagnostics.add({}, {.message = flag + " fits no workflow of this scenario", .expected = std::move(need)});
  };
  refuse(overrides.load.iterations.has_value(), took_load, "--iterations", "a workflow with an http step");
  refuse(!overrides.load.stages.empty(), took_load, "--stage", "a workflow with an http step");
  refuse(overrides.vus.has_value(), took_vus, "--vus", "a workflow with requests and a fixed number of users");
  refuse(overrides.duration.has_value(), took_duration, "--duration",
         "a workflow with requests and a duration, not stages or iterations");
  refuse(overrides.rate_per_s.has_value(), took_rate, "--rate", "a workflow with executor: constant-arrival-rate");
}

std::vector<Feeder> parse_data(const Node& node, Reading& reading) {
  std::vector<Feeder> out;
  if (!node.is_map()) {
    report_wrong(node, "'data'", "a map of names and files: {users: {csv: users.csv}}", reading);
    return out;
  }
  for (const Node& item : node.items) {
    if (out.size() == kMaxFeeders) {
      report_wrong(node, "'data'", fmt::format("at most {} files", kMaxFeeders), reading);
      break;
    }
    const auto is = [&item](std::string_view name) { return name == item.key; };
    if (!is_value_name(item.key) || std::ranges::any_of(kBuiltinNames, is)) {
      reading.diagnostics.add(item.place(), {.message = in_quotes(item.key) + " cannot be the name of data",
                                             .expected = "letters, digits and _, and none of " + join(kBuiltinNames)});
    } else if (reading.environment.declares(item.key)) {
      reading.diagnostics.add(
          item.place(),
          {.message = in_quotes(item.key) + " is already the name of a value in 'env'", .hint = "choose another name"});
    }
    out.push_back(parse_feeder(item, reading));
  }
  return out;
}

}  // namespace bellwether::scenario
