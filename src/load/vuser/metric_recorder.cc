#include "load/vuser/metric_recorder.h"

#include "load/plan/metric.h"

namespace bellwether::vuser {

void MetricRecorder::record(uint16_t series, double value) {
  metrics::MetricWindow& to = window_->series[series];
  const plan::CustomMetric& metric = plan_.metrics[plan_.series[series].metric];
  switch (metric.kind) {
    case plan::MetricKind::kCounter: return to.add(value);
    case plan::MetricKind::kRate: return to.observe(value);
    case plan::MetricKind::kGauge: return to.set(value, runtime_.now() - start_);
    case plan::MetricKind::kTrend: return to.record(value, metric.scale());
  }
}

void MetricRecorder::record(const std::vector<plan::Recording>& values, const RenderContext& context) {
  for (const plan::Recording& one : values) {
    if (one.constant) {
      record(one.series, *one.constant);
      continue;
    }
    text_.clear();
    const auto value = render(one.value, context, text_) ? plan::metric_value(text_) : std::nullopt;
    if (value) {
      record(one.series, *value);
    } else {
      ++window_->series[one.series].refused;
    }
  }
}

}  // namespace bellwether::vuser
