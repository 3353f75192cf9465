// The scenario's own metrics in the summary.
#include "core/base/printable.h"
#include "core/base/units.h"
#include "load/aggregate/metric.h"
#include "load/report/summary_page.h"
#include "load/report/threshold_text.h"

namespace bellwether::report {
namespace {

using aggregate::Sample;
using plan::Aggregation;

std::string figure(const plan::CustomMetric& metric, const Sample& sample, Aggregation aggregation,
                   double percentile = 0) {
  const auto value = value_of(sample, aggregation, percentile);
  return value ? metric_value_text(metric, aggregation, *value) : "-";
}

std::string figures(const plan::CustomMetric& metric, const Sample& sample) {
  const auto one = [&](Aggregation aggregation, double percentile = 0) {
    return figure(metric, sample, aggregation, percentile);
  };
  switch (metric.kind) {
    case plan::MetricKind::kCounter: return one(Aggregation::kCount) + "  " + one(Aggregation::kRate);
    case plan::MetricKind::kRate:
      return one(Aggregation::kRate) + "  " + format_count(static_cast<uint64_t>(sample.count)) + " of " +
             format_count(sample.total);
    case plan::MetricKind::kGauge: return one(Aggregation::kValue) + "  max " + one(Aggregation::kMax);
    case plan::MetricKind::kTrend:
      return "avg " + one(Aggregation::kAvg) + "  min " + one(Aggregation::kMin) + "  med " + one(Aggregation::kMed) +
             "  p95 " + one(Aggregation::kPercentile, 95) + "  p99 " + one(Aggregation::kPercentile, 99) + "  max " +
             one(Aggregation::kMax);
  }
  return {};
}

}  // namespace

void write_metrics(Page& page, const RunReport& run) {
  const plan::Plan& plan = run.totals->plan();
  if (plan.metrics.empty()) return;
  page.heading("METRICS");
  std::size_t width = 0;
  for (const plan::CustomMetric& metric : plan.metrics) width = std::max(width, width_of(metric.name));
  width = std::min(width, page.width() / 3);
  for (const plan::CustomMetric& metric : plan.metrics) {
    const Sample seen = *aggregate::sample(*run.totals, metric.name);
    std::string text = seen.any ? figures(metric, seen) : "nothing was recorded";
    if (seen.refused > 0) text += "  " + page.style(format_count(seen.refused, "value") + " refused", Style::kWarn);
    page.line(pad_right(shorten(metric.name, width), width) + "  " + text);
  }
}

}  // namespace bellwether::report
