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
  kStep,      // step and workflow
  kWorkflow,  // workflow
};

struct Metric {
  std::string_view name;  // of the product's memory, or the plan's
  MetricKind kind;
  MetricScope scope;
};

// The metrics of every run.
std::span<const Metric> metrics();
// Empty when neither they nor those of the plan have this name.
std::optional<Metric> find_metric(const Plan& plan, std::string_view name);

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

}  // namespace bellwether::plan
