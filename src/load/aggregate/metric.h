// The figures of a run under the names of plan::metrics(), for thresholds and result files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "load/aggregate/totals.h"
#include "load/metrics/histogram.h"
#include "load/plan/metric.h"
#include "load/plan/plan.h"

namespace bellwether::aggregate {

using plan::MetricKind;
// "counter", "gauge", "rate", "trend": the words of result files.
std::string_view to_string(MetricKind kind);

// A part of the run; none set: all of it. A filter that a metric cannot have (iterations of one step) selects nothing.
struct Filter {
  std::optional<plan::StepId> step;
  std::optional<uint16_t> workflow;
  std::optional<plan::CheckId> check;
  std::span<const plan::Tag> tags = {};  // steps that have them all
  plan::ResponseFilter response = {};    // that of a threshold of the plan
};

// The samples of a metric. Its kind decides which members have a meaning.
struct Sample {
  MetricKind kind = MetricKind::kCounter;
  double count = 0;              // kCounter: the count; kRate: true observations
  uint64_t total = 0;            // kRate: all observations
  double last = 0;               // kGauge
  double greatest = 0;           // kGauge
  metrics::ResponseTimes trend;  // kTrend; other times than those of responses are all `answered`
  double scale = kMillisecond;   // kTrend: the number of the histogram's units in one of the metric's
  uint64_t refused = 0;          // impossible values of the scenario's own metrics
  bool any = true;               // has a sample; true for metrics that count all the time
  Duration elapsed;              // measured time of the run; of a part in one workflow, that in which this ran
};
// The value of a metric of the product or of the scenario. Empty when the metric does not exist, or does not have this
// filter.
std::optional<Sample> sample(const Totals& totals, std::string_view metric, const Filter& filter = {});

struct Value {
  double value = 0;
  bool at_least = false;            // a lower bound: requests without a response may be slower
  std::optional<double> most = {};  // of a lower bound: the upper one, if known
};
// One figure of a sample. Empty without samples to compute it from, or when the kind has no such figure. A counter that
// counted nothing is 0: that is a measurement.
std::optional<Value> value_of(const Sample& sample, plan::Aggregation aggregation, double percentile = 0);

// The requests of all steps with one tag, as a threshold with it counts them.
struct TagSum {
  std::string name;  // "api:v2"
  metrics::StepWindow sum;
  Duration elapsed;  // the time that its rate is per
};
struct TagSums {
  static constexpr std::size_t kMax = 100;
  std::vector<TagSum> tags;  // by key and value
  std::size_t left_out = 0;  // beyond kMax
};
// Of each own tag of the measured steps, but not of one of the run that all of them have; and of each name that several
// of them have.
TagSums sums_by_tag(const Totals& totals);

// Pass/fail rules over the figures of a run, with the meaning that they have in k6, with one exception: a threshold
// without samples has not passed.
struct ThresholdResult {
  std::optional<double> value;  // durations in ms, rates 0..1; none: no samples
  bool at_least = false;        // the value is a lower bound; the upper one decides about an upper limit
  bool ok = false;              // never without a value
  bool no_samples() const { return !value.has_value(); }
};

ThresholdResult evaluate(const Totals& totals, const plan::Threshold& threshold);
// One for each of Plan::thresholds, in order.
std::vector<ThresholdResult> evaluate(const Totals& totals);

// The first threshold marked abortOnFail that fails now and whose delayAbortEval has passed: the run must stop. A
// threshold without samples never stops a run. Call it about once a second.
std::optional<std::size_t> abort_due(const Totals& totals);

}  // namespace bellwether::aggregate
