#include "metrics/metric_window.h"

#include <algorithm>
#include <cmath>

namespace bellwether::metrics {

bool MetricWindow::takes(double value, double least_value) {
  if (!std::isfinite(value) || value < least_value || value > kMostValue) {
    ++refused;
    return false;
  }
  ++count;
  return true;
}

void MetricWindow::add(double amount) {
  if (takes(amount, 0)) sum += static_cast<uint64_t>(std::llround(amount * 1e6));
}

void MetricWindow::observe(double truth) {
  if (takes(truth, -kMostValue) && truth != 0) ++trues;
}

void MetricWindow::set(double value, Duration at) {
  if (!takes(value, -kMostValue)) return;
  least = count == 1 ? value : std::min(least, value);
  greatest = count == 1 ? value : std::max(greatest, value);
  last = value;
  last_at = at;
}

void MetricWindow::record(double value, double scale) {
  if (!takes(value, 0)) return;
  const double scaled = std::min(value * scale, static_cast<double>(Histogram::kMaxTracked));
  trend.record(Duration::nanos(std::llround(scaled)));
}

void MetricWindow::merge(const MetricWindow& other) {
  if (other.count > 0) {
    if (count == 0 || other.last_at > last_at || (other.last_at == last_at && other.last > last)) {
      last = other.last;
      last_at = other.last_at;
    }
    least = count == 0 ? other.least : std::min(least, other.least);
    greatest = count == 0 ? other.greatest : std::max(greatest, other.greatest);
  }
  count += other.count;
  refused += other.refused;
  sum += other.sum;
  trues += other.trues;
  trend.merge(other.trend);
}

void MetricWindow::clear() {
  count = refused = trues = 0;
  sum = 0;
  last = least = greatest = 0;
  last_at = Duration::zero();
  trend.clear();
}

}  // namespace bellwether::metrics
