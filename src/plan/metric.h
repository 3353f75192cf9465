// The metrics that a threshold can name, and what each can be asked.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "plan/plan.h"

namespace bellwether::plan {

enum class MetricKind : uint8_t {
  kCounter,  // count, rate (per second)
  kRate,     // rate: the share that is true
  kTrend,    // avg, min, max, med, p(N); milliseconds
  kGauge,    // value
};

// Which tags select a part of a metric.
enum class MetricScope : uint8_t {
  kCheck,     // check, step and workflow
  kStep,      // step and workflow
  kWorkflow,  // workflow
};

struct Metric {
  std::string_view name;
  MetricKind kind;
  MetricScope scope;
};

std::span<const Metric> metrics();
// Null when there is none of this name.
const Metric* find_metric(std::string_view name);

}  // namespace bellwether::plan
