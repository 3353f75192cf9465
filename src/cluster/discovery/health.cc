#include "cluster/discovery/health.h"

#include <algorithm>

namespace bellwether::discovery {

void PeerHealth::succeeded(Duration latency) {
  const auto was = static_cast<double>(ewma_.ns());
  const double is = alpha_ * static_cast<double>(latency.ns()) + (1 - alpha_) * was;
  ewma_ = latencies_seen_ == 0 ? latency : Duration::nanos(static_cast<int64_t>(is));
  if (latencies_.size() < kLatencies) {
    latencies_.push_back(latency);
  } else {
    latencies_[latencies_seen_ % kLatencies] = latency;
  }
  ++latencies_seen_;
  consecutive_failures_ = 0;
  count(false);
}

void PeerHealth::failed() {
  ++consecutive_failures_;
  count(true);
}

void PeerHealth::count(bool error) { errors_[outcomes_++ % kOutcomes] = error; }

double PeerHealth::error_rate() const {
  if (outcomes_ < kOutcomesNeeded) return 0;
  return static_cast<double>(errors_.count()) / static_cast<double>(std::min(outcomes_, kOutcomes));
}

std::optional<Duration> PeerHealth::p99() const {
  if (latencies_.size() < kOutcomesNeeded) return std::nullopt;
  std::vector<Duration> sorted = latencies_;
  const std::size_t rank = (sorted.size() * 99 + 99) / 100 - 1;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

}  // namespace bellwether::discovery
