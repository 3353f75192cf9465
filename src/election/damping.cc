#include "election/damping.h"

#include <algorithm>

namespace bellwether::election {

void Damping::leader_changed(Instant now) {
  if (!backoff_ && !flap_) return;
  changes_.push_back(now);
  if (changes_.size() > kMaxRemembered) changes_.pop_front();
  // Changes during a cool-down do not lengthen it: damping must end.
  if (flap_ && !cooling_down(now) && changes_since(now - flap_->window) >= flap_->changes) {
    cooldown_until_ = now + flap_->cooldown;
  }
}

Instant Damping::may_stand_from(Instant now, Prng& prng) {
  Instant from = now;
  if (backoff_) {
    const std::size_t before = changes_since(now - backoff_->window);
    const BackoffSettings::Range& range = before == 0   ? backoff_->first
                                          : before == 1 ? backoff_->second
                                                        : backoff_->later;
    from = now + prng.between(range.low, range.high);
  }
  return std::max(from, cooldown_until_);
}

std::size_t Damping::changes_since(Instant from) const {
  return static_cast<std::size_t>(std::count_if(changes_.begin(), changes_.end(), [&](Instant t) { return t > from; }));
}

}  // namespace bellwether::election
