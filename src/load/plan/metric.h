// The metrics that a threshold can name, and their aggregations: those of every run, and the scenario's own.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "load/plan/plan.h"
#include "load/scenario/model.h"
#include "load/scenario/section.h"

namespace bellwether::plan {

// The tags that select a part of a metric.
enum class MetricScope : uint8_t {
  kCheck,     // check, step and workflow
  kResponse,  // status, expected_response, step and workflow
  kStep,      // step and workflow
  kWorkflow,  // workflow
};

struct Metric {
  std::string_view name;  // of the product's memory, or the plan's
  MetricKind kind;
  MetricScope scope;
  RequestTime time = RequestTime::kResponse;  // kResponse: of what it counts, those with a response
};

// The metrics of every run.
std::span<const Metric> metrics();
// Empty when neither they nor those of the plan have this name.
std::optional<Metric> find_metric(const Plan& plan, std::string_view name);

// Whether step `step` is among those that a threshold selects: with this number, of this workflow, with all these tags.
// A step counts even if it is not measured: its checks do.
bool selects_step(const Plan& plan, std::size_t step, std::optional<StepId> only, std::optional<uint16_t> workflow,
                  std::span<const Tag> tags);

// The time of a group of steps in an iteration: a metric of the plan for each group.
inline constexpr std::string_view kGroupDuration = "group_duration";
// Its name: "group_duration{group:checkout}", as thresholds write it.
std::string group_metric(std::string_view group);

// The value of a metric from text: a number, or true and false, which are 1 and 0.
std::optional<double> metric_value(std::string_view text);

// Thresholds in k6's grammar: a metric with optional tags in braces, and AGGREGATION OPERATOR NUMBER. Resolves their
// names against `plan`, whose steps and checks are complete. With
// `checks_known` false (some workflow was wrong) unknown checks are not reported.
std::vector<Threshold> compile_thresholds(const scenario::Scenario& source, const Plan& plan, bool checks_known,
                                          scenario::Reading& reading);
// The watches of the plan's thresholds. Reports those of a threshold that needs too many, at its metric in `source`.
void compile_watches(const scenario::Scenario& source, scenario::Reading& reading, Plan& plan);

}  // namespace bellwether::plan
