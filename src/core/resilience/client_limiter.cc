#include "core/resilience/client_limiter.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace bellwether::resilience {

ClientLimiter::ClientLimiter(const CourtesySettings& settings) : settings_(settings) {
  check(settings.factor >= 1, "waits do not become shorter");
}

Instant ClientLimiter::ready(const std::string& peer, Operation operation) const {
  const auto found = held_.find({peer, operation});
  return found == held_.end() ? Instant() : found->second;
}

bool ClientLimiter::waits(Call& call, Duration wait) const {
  if (wait > settings_.wait_most - call.waited) return false;
  call.waited += wait;
  return true;
}

std::optional<Instant> ClientLimiter::refused(Call& call, Instant now, const std::string& peer, Operation operation,
                                              Duration again_after) {
  if (held_.size() >= kMaxHeld && !held_.contains({peer, operation})) {
    held_.erase(
        std::min_element(held_.begin(), held_.end(), [](const auto& a, const auto& b) { return a.second < b.second; }));
  }
  Instant& until = held_[{peer, operation}];
  until = std::max(until, now + again_after);
  if (call.retries >= settings_.retries_most) return std::nullopt;
  // Not beyond the longest wait, so that no factor is too large.
  const double seconds =
      std::min(again_after.seconds_f() * std::pow(settings_.factor, call.retries), settings_.wait_most.seconds_f() + 1);
  ++call.retries;
  const Duration wait = std::max(again_after, Duration::from_seconds_f(seconds));
  if (!waits(call, wait)) return std::nullopt;
  return now + wait;
}

}  // namespace bellwether::resilience
