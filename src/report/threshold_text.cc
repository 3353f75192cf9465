#include "report/threshold_text.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "plan/metric.h"
#include "report/text.h"

namespace bellwether::report {

std::string threshold_value(const plan::Threshold& threshold, double value) {
  const plan::Metric* metric = plan::find_metric(threshold.metric);
  const plan::MetricKind kind = metric != nullptr ? metric->kind : plan::MetricKind::kGauge;
  const bool count = threshold.aggregation == plan::Aggregation::kCount;
  if (kind == plan::MetricKind::kTrend && !count) {
    return format_duration(Duration::nanos(static_cast<int64_t>(value * 1e6)));
  }
  if (kind == plan::MetricKind::kRate) return percent(static_cast<uint64_t>(std::llround(value * 1e9)), 1'000'000'000);
  if (kind == plan::MetricKind::kCounter && !count) return decimal(value) + "/s";
  return format_count(static_cast<uint64_t>(std::max(value, 0.0)));
}

}  // namespace bellwether::report
