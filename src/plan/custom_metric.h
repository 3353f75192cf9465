// Metrics of the scenario's own: what its steps record beside what is measured of requests.
#pragma once

#include <cstdint>
#include <string>

namespace bellwether::plan {

enum class MetricKind : uint8_t {
  kCounter,  // count, rate (per second)
  kRate,     // rate: the share that is true
  kTrend,    // avg, min, max, med, p(N); of times: milliseconds
  kGauge,    // value
};

struct CustomMetric {
  std::string name;
  MetricKind kind = MetricKind::kCounter;
  std::string unit;  // "ms": they are times, in milliseconds; any other is only shown

  bool is_time() const { return unit == "ms"; }
  // Trends are kept in histograms of whole numbers: how many of them one unit of the metric is. Times are kept as
  // nanoseconds; others in thousandths, and so up to some 8.7 thousand million.
  double scale() const { return is_time() ? 1e6 : 1e3; }
};

// What one step records of one metric: the unit of counting, so that thresholds can select steps.
struct Series {
  uint16_t metric = 0;  // index into Plan::metrics
  uint16_t step = 0;    // StepId
};

}  // namespace bellwether::plan
