#include "election/adaptive_timing.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::election {

AdaptiveTiming::AdaptiveTiming(AdaptiveSettings settings, Duration first) : settings_(settings) {
  check(settings_.lease_min > Duration::zero() && settings_.lease_min <= settings_.lease_max, "bounds of a lease");
  timing_ = LeaseTiming::of(bounded(first));
}

Duration AdaptiveTiming::bounded(Duration lease) const {
  return std::clamp(lease, settings_.lease_min, settings_.lease_max);
}

std::optional<LeaseTiming> AdaptiveTiming::change_to(Duration lease) {
  lease = bounded(lease);
  if (lease == timing_.lease) return std::nullopt;
  timing_ = LeaseTiming::of(lease);
  since_change_ = 0;
  return timing_;
}

std::optional<LeaseTiming> AdaptiveTiming::renewed(Duration took) {
  took_.push_back(took);
  if (took_.size() > settings_.window) took_.pop_front();
  ++since_change_;
  const Duration slowest = *std::max_element(took_.begin(), took_.end());
  const Duration longest_used = settings_.lease_max / settings_.latencies;
  const Duration wanted = bounded(std::min(slowest, longest_used) * settings_.latencies);
  if (wanted > timing_.lease) return change_to(wanted);
  // A tenth less at a time, each after a window in which nothing asked for more.
  const Duration step = timing_.lease * 9 / 10;
  if (since_change_ >= settings_.window && wanted < timing_.lease) return change_to(std::max(wanted, step));
  return std::nullopt;
}

// How long it would have taken is not known: longer than what was waited for.
std::optional<LeaseTiming> AdaptiveTiming::failed() {
  since_change_ = 0;
  return change_to(std::min(timing_.lease, settings_.lease_max / 2) * 2);
}

}  // namespace bellwether::election
