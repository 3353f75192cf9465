#include "plan/metric.h"

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

const Metric* find_metric(std::string_view name) {
  for (const Metric& metric : kMetrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

}  // namespace bellwether::plan
