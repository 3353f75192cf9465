#include "load/aggregate/thresholds.h"

#include "load/aggregate/metric.h"

namespace bellwether::aggregate {
namespace {

bool holds(double value, plan::Op op, double bound) {
  switch (op) {
    case plan::Op::kLess: return value < bound;
    case plan::Op::kLessEqual: return value <= bound;
    case plan::Op::kGreater: return value > bound;
    case plan::Op::kGreaterEqual: return value >= bound;
    case plan::Op::kEqual: return value == bound;
    case plan::Op::kNotEqual: return value != bound;
  }
  return false;
}

}  // namespace

ThresholdResult evaluate(const Totals& totals, const plan::Threshold& threshold) {
  ThresholdResult result;
  const auto seen =
      sample(totals, threshold.metric, {threshold.step, threshold.workflow, threshold.check, threshold.tags});
  if (!seen) return result;
  result.value = value_of(*seen, threshold.aggregation, threshold.percentile);
  result.ok = result.value && holds(*result.value, threshold.op, threshold.value);
  return result;
}

std::vector<ThresholdResult> evaluate(const Totals& totals) {
  std::vector<ThresholdResult> results;
  for (const plan::Threshold& threshold : totals.plan().thresholds) results.push_back(evaluate(totals, threshold));
  return results;
}

std::optional<std::size_t> abort_due(const Totals& totals) {
  const std::vector<plan::Threshold>& thresholds = totals.plan().thresholds;
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    if (!thresholds[i].abort_on_fail || totals.elapsed() < thresholds[i].delay_abort_eval) continue;
    const ThresholdResult result = evaluate(totals, thresholds[i]);
    if (!result.ok && !result.no_samples()) return i;
  }
  return std::nullopt;
}

}  // namespace bellwether::aggregate
