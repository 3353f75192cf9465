// From the tree of a scenario file to the model. Reports all errors in the shape of the file; a scenario is worth
// compiling only without a report.
#pragma once

#include "load/scenario/document.h"
#include "load/scenario/model.h"
#include "load/scenario/section.h"
#include "load/scenario/sources.h"

namespace bellwether::scenario {

// The whole file. `default_name` is used when the file gives no name.
Scenario parse_scenario(const Node& root, std::string default_name, Reading& reading);

// Applies the settings of the command line. Reports a setting that no workflow has.
void apply_overrides(const Overrides& overrides, Scenario& scenario, Diagnostics& diagnostics);

// The parts. The workflows 'setup' and 'teardown' beside the others are not measured.
Workflow parse_workflow(const Node& node, bool is_frame, Reading& reading);
// Of a workflow whose steps are known.
void parse_executor(const Section& section, Workflow& workflow);
// The key 'steps' of a workflow. Appends each step, and after it those that it holds.
void parse_steps(const Section& section, Workflow& workflow);
// A duration, a range of durations, or a distribution.
std::optional<Delay> parse_delay(const Node& node, const std::string& what, Reading& reading);
Http parse_http(const Node& node, const std::string& where, Reading& reading);
// The value of the key 'lua' or 'native' of `where`.
Code parse_code(const Node& node, const std::string& where, Reading& reading);
// Whether a step may have such a tag, and a threshold can name it.
bool is_tag_name(std::string_view text);
bool is_tag_value(std::string_view text);
// The key 'tags' of a workflow or a step, and 'group' of a step: the tag of that name.
std::vector<Pair> parse_tags(const Section& section, bool with_group);
// The key 'auth' of a request, or of the defaults.
std::optional<Auth> parse_auth(const Section& http);
// The key 'timeout' of the whole file, or of a workflow.
std::optional<Duration> parse_timeout(const Section& section);
HttpDefaults parse_http_defaults(const Node& node, Reading& reading);
std::vector<Pair> parse_pairs(const Node& node, const std::string& what, Reading& reading);
std::vector<Condition> parse_checks(const Node& node, const std::string& step, Reading& reading);
// The key 'if' of a step.
std::vector<Condition> parse_conditions(const Node& node, const std::string& step, Reading& reading);
std::vector<Extraction> parse_extracts(const Node& node, const std::string& step, Reading& reading);
std::vector<Threshold> parse_thresholds(const Node& node, Reading& reading);
std::vector<Feeder> parse_data(const Node& node, Reading& reading);
std::vector<Metric> parse_metrics(const Node& node, Reading& reading);
// The key 'metric' of a step: {orders: 1, total: "${order.json.$.total}"}.
std::vector<Pair> parse_records(const Node& node, const std::string& what, Reading& reading);

}  // namespace bellwether::scenario
