// Pass/fail rules over what a run has measured, with the meaning they have in k6, but for one thing: a threshold that
// has no samples has not passed.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/time.h"
#include "load/aggregate/totals.h"
#include "load/plan/plan.h"

namespace bellwether::aggregate {

struct ThresholdResult {
  std::optional<double> value;  // durations in ms, rates 0..1; none: there were no samples
  bool ok = false;              // never without a value
  bool no_samples() const { return !value.has_value(); }
};

ThresholdResult evaluate(const Totals& totals, const plan::Threshold& threshold);
// One for each of Plan::thresholds, in order.
std::vector<ThresholdResult> evaluate(const Totals& totals);

// The first threshold marked abortOnFail that fails now and whose delayAbortEval has passed: the run is to stop.
// A threshold without samples never stops a run. To be asked once a second or so.
std::optional<std::size_t> abort_due(const Totals& totals);

}  // namespace bellwether::aggregate
