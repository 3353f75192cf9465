#include "load/plan/metric.h"

#include <array>

#include "core/base/bytes.h"

namespace bellwether::plan {
namespace {

constexpr std::array<Metric, 19> kMetrics{{
    {"http_reqs", MetricKind::kCounter, MetricScope::kStep},
    {"http_req_failed", MetricKind::kRate, MetricScope::kStep},
    {"http_req_duration", MetricKind::kTrend, MetricScope::kStep},
    {"http_req_service", MetricKind::kTrend, MetricScope::kStep},
    {"http_req_response", MetricKind::kTrend, MetricScope::kStep},
    {"http_req_looking_up", MetricKind::kTrend, MetricScope::kStep},
    {"http_req_connecting", MetricKind::kTrend, MetricScope::kStep},
    {"http_req_tls_handshaking", MetricKind::kTrend, MetricScope::kStep},
    {"http_req_sending", MetricKind::kTrend, MetricScope::kStep},
    {"http_req_waiting", MetricKind::kTrend, MetricScope::kStep},
    {"http_req_receiving", MetricKind::kTrend, MetricScope::kStep},
    {"checks", MetricKind::kRate, MetricScope::kCheck},
    {"iterations", MetricKind::kCounter, MetricScope::kWorkflow},
    {"iteration_duration", MetricKind::kTrend, MetricScope::kWorkflow},
    {"dropped_iterations", MetricKind::kCounter, MetricScope::kWorkflow},
    {"data_sent", MetricKind::kCounter, MetricScope::kStep},
    {"data_received", MetricKind::kCounter, MetricScope::kStep},
    {"vus", MetricKind::kGauge, MetricScope::kWorkflow},
    {"vus_max", MetricKind::kGauge, MetricScope::kWorkflow},
}};

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

std::optional<Metric> find_metric(const Plan& plan, std::string_view name) {
  for (const Metric& metric : kMetrics) {
    if (metric.name == name) return metric;
  }
  for (const CustomMetric& metric : plan.metrics) {
    if (metric.name == name) return Metric{metric.name, metric.kind, MetricScope::kStep};
  }
  return std::nullopt;
}

std::optional<double> metric_value(std::string_view text) {
  text = trim(text);
  if (text == "true") return 1;
  if (text == "false") return 0;
  return parse_double(text);
}

}  // namespace bellwether::plan
