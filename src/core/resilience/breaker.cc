#include "core/resilience/breaker.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/enum_names.h"

namespace bellwether::resilience {

std::string_view to_string(Category category) {
  static constexpr EnumNames<Category> kNames("network", "protocol", "execution", "state");
  return kNames[category];
}

std::string_view to_string(BreakerState state) {
  static constexpr EnumNames<BreakerState> kNames("closed", "open", "half-open");
  return kNames[state];
}

Category category_of(Errc error) {
  switch (error) {
    case Errc::kRefused:
    case Errc::kReset:
    case Errc::kClosed:
    case Errc::kTimeout:
    case Errc::kUnreachable:
    case Errc::kDns: return Category::kNetwork;
    case Errc::kProtocol:
    case Errc::kTls:
    case Errc::kTooLarge:
    case Errc::kUnsupported: return Category::kProtocol;
    case Errc::kIo:
    case Errc::kNoSpace:
    case Errc::kExhausted: return Category::kState;
    default: return Category::kExecution;
  }
}

Breaker::Breaker(BreakerSettings settings) : settings_(settings) {
  check(settings.failures > 0 && settings.failures <= kMaxFailures, "a breaker remembers what it counts");
}

bool Breaker::allow(Instant now) {
  if (!is_open_) return true;
  if (now < open_until_) return false;
  if (trial_ && now - *trial_ < settings_.open_for) return false;
  trial_ = now;
  return true;
}

// Failures between successes are no outage, but they still count together; and an answer to a call that was under way
// when it opened says little. Only a trial wipes the slate.
void Breaker::succeeded() {
  if (!trial_) return;
  is_open_ = false;
  trial_.reset();
  count_ = 0;
}

void Breaker::failed(Instant now) {
  last_failure_ = now;
  recent_[next_] = now;
  next_ = (next_ + 1) % settings_.failures;
  count_ = std::min(count_ + 1, settings_.failures);
  if (is_open_ ? trial_.has_value() : failures(now) >= settings_.failures) open(now);
}

void Breaker::open(Instant now) {
  is_open_ = true;
  trial_.reset();
  open_until_ = now + settings_.open_for;
  ++times_opened_;
}

BreakerState Breaker::state(Instant now) const {
  if (!is_open_) return BreakerState::kClosed;
  return now < open_until_ ? BreakerState::kOpen : BreakerState::kHalfOpen;
}

std::size_t Breaker::failures(Instant now) const {
  std::size_t within = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (now - recent_[i] < settings_.window) ++within;
  }
  return within;
}

bool Breakers::allow(Instant now, std::string_view peer, Category category) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return true;
  auto& breaker = found->second.breakers[static_cast<std::size_t>(category)];
  return !breaker || breaker->allow(now);
}

void Breakers::succeeded(std::string_view peer, Category category) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  auto& breaker = found->second.breakers[static_cast<std::size_t>(category)];
  if (breaker) breaker->succeeded();
}

void Breakers::failed(Instant now, std::string_view peer, Errc error) {
  auto found = peers_.find(peer);
  if (found == peers_.end()) {
    if (peers_.size() >= kMaxPeers) {
      peers_.erase(std::min_element(peers_.begin(), peers_.end(), [](const auto& a, const auto& b) {
        return a.second.last_failure < b.second.last_failure;
      }));
    }
    found = peers_.try_emplace(std::string(peer)).first;
  }
  found->second.last_failure = now;
  auto& breaker = found->second.breakers[static_cast<std::size_t>(category_of(error))];
  if (!breaker) breaker.emplace(settings_);
  breaker->failed(now);
}

void Breakers::forget(std::string_view peer) {
  const auto found = peers_.find(peer);
  if (found != peers_.end()) peers_.erase(found);
}

bool Breakers::is_open(Instant now, std::string_view peer) const {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return false;
  const auto& all = found->second.breakers;
  return std::ranges::any_of(all, [&](const std::optional<Breaker>& breaker) {
    return breaker && breaker->state(now) == BreakerState::kOpen;
  });
}

Duration Breakers::retry_in(Instant now, std::string_view peer, Category category) const {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return Duration::zero();
  const auto& breaker = found->second.breakers[static_cast<std::size_t>(category)];
  return breaker && breaker->state(now) == BreakerState::kOpen ? breaker->open_until() - now : Duration::zero();
}

std::vector<Breakers::Status> Breakers::status(Instant now) const {
  std::vector<Status> all;
  for (const auto& [name, peer] : peers_) {
    for (std::size_t i = 0; i < kCategories; ++i) {
      const auto& breaker = peer.breakers[i];
      if (!breaker) continue;
      const BreakerState state = breaker->state(now);
      all.push_back({name, static_cast<Category>(i), state, breaker->failures(now), breaker->times_opened(),
                     state == BreakerState::kOpen ? breaker->open_until() - now : Duration::zero()});
    }
  }
  return all;
}

}  // namespace bellwether::resilience
