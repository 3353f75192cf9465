// What one step recorded of one metric of the scenario's own in a second. Which members mean something depends on the
// kind of the metric, which whoever records knows.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "metrics/histogram.h"

namespace bellwether::metrics {

struct MetricWindow {
  // Greater values, and smaller ones of what cannot be below 0, are no values of a metric.
  static constexpr double kMostValue = 1e12;

  explicit MetricWindow(PiecePool* pool) : trend(pool) {}

  uint64_t count = 0;    // values
  uint64_t refused = 0;  // that were none: no number, or out of range
  // Counters, in millionths of one, so that sums are the same in whatever order they are made.
  unsigned __int128 sum = 0;
  uint64_t trues = 0;  // rates
  // Gauges. The last value, when it was recorded since the start of the run, and the least and greatest so far.
  double last = 0;
  Duration last_at;
  double least = 0;
  double greatest = 0;
  Histogram trend;  // trends, scaled (CustomMetric::scale)

  // Each counts the value as refused when it is none.
  void add(double amount);
  void observe(double truth);  // 0: false
  void set(double value, Duration at);
  void record(double value, double scale);

  double amount() const { return static_cast<double>(sum) * 1e-6; }
  bool empty() const { return (count | refused) == 0; }
  // Of two gauges the later one says the last value.
  void merge(const MetricWindow& other);
  void clear();

 private:
  bool takes(double value, double least_value);
};

}  // namespace bellwether::metrics
