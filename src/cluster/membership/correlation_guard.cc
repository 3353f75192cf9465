#include "cluster/membership/correlation_guard.h"

#include <algorithm>

namespace bellwether::membership {

bool CorrelationGuard::holds(uint8_t kind, std::size_t alive, std::size_t suspect, Instant now) {
  constexpr std::size_t kFewest = 4;
  std::erase_if(deaths_, [&](const Death& d) { return now - d.at > limit_; });
  const auto dead = static_cast<std::size_t>(
      std::count_if(deaths_.begin(), deaths_.end(), [&](const Death& d) { return d.kind == kind; }));
  const std::size_t all = alive + suspect + dead;
  Instant& since = since_[kind];
  if (all < kFewest || 2 * (suspect + dead) <= all) {
    since = Instant::never();
    return false;
  }
  if (since == Instant::never()) since = now;
  return now - since < limit_;
}

}  // namespace bellwether::membership
