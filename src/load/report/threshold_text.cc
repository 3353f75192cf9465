#include "load/report/threshold_text.h"

#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "load/plan/metric.h"
#include "load/report/text.h"

namespace bellwether::report {
namespace {

std::string in_unit(const plan::CustomMetric& metric, const std::string& value) {
  return metric.unit.empty() ? value : value + " " + metric.unit;
}

std::string amount(double value) {
  const bool is_whole = value >= 0 && value < 1e15 && value == std::floor(value);
  if (is_whole) return format_count(static_cast<uint64_t>(value));
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string share(double value) { return percent(static_cast<uint64_t>(std::llround(value * 1e9)), 1'000'000'000); }

std::string time(double millis) { return format_duration(Duration::nanos(static_cast<int64_t>(millis * 1e6))); }

}  // namespace

std::string metric_value_text(const plan::CustomMetric& metric, plan::Aggregation aggregation, double value) {
  if (metric.kind == plan::MetricKind::kRate) return share(value);
  if (metric.kind == plan::MetricKind::kTrend && metric.is_time()) return time(value);
  if (aggregation == plan::Aggregation::kRate) return in_unit(metric, decimal(value)) + "/s";
  return in_unit(metric, amount(value));
}

std::string title_text(const ResultMetric& metric) {
  return metric.unit.empty() ? metric.name : metric.name + ", " + metric.unit;
}

std::string figures_text(const ResultMetric& metric) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (const auto& [name, value] : metric.figures) add(name + " " + amount(value));
  if (metric.refused > 0) add(format_count(metric.refused, "value") + " refused");
  return out.empty() ? "nothing was recorded" : out;
}

std::string threshold_value(const plan::Plan& plan, const plan::Threshold& threshold, double value) {
  for (const plan::CustomMetric& own : plan.metrics) {
    if (own.name == threshold.metric) return metric_value_text(own, threshold.aggregation, value);
  }
  const auto metric = plan::find_metric(plan, threshold.metric);
  const plan::MetricKind kind = metric ? metric->kind : plan::MetricKind::kGauge;
  const bool count = threshold.aggregation == plan::Aggregation::kCount;
  if (kind == plan::MetricKind::kTrend && !count) return time(value);
  if (kind == plan::MetricKind::kRate) return share(value);
  if (kind == plan::MetricKind::kCounter && !count) return decimal(value) + "/s";
  return format_count(static_cast<uint64_t>(std::max(value, 0.0)));
}

}  // namespace bellwether::report
