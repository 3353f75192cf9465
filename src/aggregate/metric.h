// The metrics of a run under the names that thresholds and result files use, which are k6's where k6 has the metric.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "aggregate/totals.h"
#include "metrics/histogram.h"
#include "plan/plan.h"

namespace bellwether::aggregate {

enum class MetricKind : uint8_t {
  kCounter,  // count, rate (per second of the run)
  kGauge,    // value (the last), max (the highest)
  kRate,     // rate: the share of observations that are true, 0..1
  kTrend,    // avg, min, max, med, p(N), count; milliseconds
};
std::string_view to_string(MetricKind kind);

struct MetricInfo {
  std::string_view name;
  MetricKind kind;
};
// Every metric there is, in the order reports list them.
std::span<const MetricInfo> metric_catalogue();

// Which part of the run: none set is all of it. A filter a metric cannot have (iterations of one step) selects nothing.
struct Filter {
  std::optional<plan::StepId> step;
  std::optional<uint16_t> workflow;
  std::optional<plan::CheckId> check;
};

// What a metric has seen. Which members mean something depends on the kind.
struct Sample {
  MetricKind kind = MetricKind::kCounter;
  uint64_t count = 0;        // kCounter: the count; kRate: observations that were true
  uint64_t total = 0;        // kRate: all observations
  Gauge gauge;               // kGauge
  metrics::Histogram trend;  // kTrend
  Duration elapsed;          // measured time of the run
};
// Nothing when there is no metric of that name, or the filter is none it can have.
std::optional<Sample> sample(const Totals& totals, std::string_view metric, const Filter& filter = {});

// One figure of a sample. Nothing when there were no samples to compute it from, or the kind has no such figure. A
// counter that counted nothing is 0: that is a measurement.
std::optional<double> value_of(const Sample& sample, plan::Aggregation aggregation, double percentile = 0);

}  // namespace bellwether::aggregate
