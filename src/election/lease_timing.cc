#include "election/lease_timing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/base/check.h"

namespace bellwether::election {
namespace {

Duration scaled(Duration span, double factor) {
  return Duration::nanos(static_cast<int64_t>(std::llround(static_cast<double>(span.ns()) * factor)));
}

std::string percent(double ratio) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), ratio * 100, std::chars_format::general, 4);
  return std::string(text.data(), end.ptr) + " %";
}

// Arithmetic that is shown must come out: no rounding to three digits here.
std::string exact(Duration span) {
  std::array<char, 48> text{};
  const double seconds = std::round(span.seconds_f() * 1000) / 1000;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), seconds);
  return std::string(text.data(), end.ptr) + "s";
}

tl::unexpected<Error> refuse(std::string message) { return fail(Errc::kInvalid, std::move(message)); }

}  // namespace

LeaseTiming LeaseTiming::of(Duration lease) {
  LeaseTiming t;
  t.lease = lease;
  t.renew_every = lease / 3;
  t.renew_deadline = lease * 2 / 3;
  t.margin = std::clamp(lease / 15, Duration::millis(20), Duration::seconds(1));
  const Duration usable = scaled(lease, 1 - t.drift);
  t.stop_grace = std::max(usable - t.renew_deadline - t.margin, Duration::zero());
  t.retry = lease * 2 / 15;
  t.store_timeout = lease / 10;
  return t;
}

Duration LeaseTiming::takeable_after(Duration lease_of_record) const { return scaled(lease_of_record, 1 + drift); }

Status LeaseTiming::validate() const {
  if (lease <= Duration::zero()) return refuse("the lease must be longer than 0");
  if (lease > Duration::hours(24 * 365)) return refuse(fmt::format("the lease {} is longer than a year", exact(lease)));
  if (drift < 0 || drift >= 0.5)
    return refuse("the clock drift must be from 0 to less than 50 %, not " + percent(drift));
  if (jitter < 0 || jitter > 0.9) return refuse("the jitter must be from 0 to 90 %, not " + percent(jitter));
  for (const auto& [name, span] : {std::pair{"renew interval", renew_every},
                                   {"renew deadline", renew_deadline},
                                   {"retry interval", retry},
                                   {"store timeout", store_timeout}}) {
    if (span <= Duration::zero()) return refuse(fmt::format("the {} must be longer than 0", name));
  }
  if (stop_grace < Duration::zero() || margin < Duration::zero()) return refuse("grace and margin cannot be negative");

  const Duration usable = scaled(lease, 1 - drift);
  const Duration needed = renew_deadline + stop_grace + margin;
  if (needed > usable) {
    return refuse(
        fmt::format("renew deadline {} + stop grace {} + margin {} = {}, but the lease {} less {} clock drift is only "
                    "{}: the old holder could still act when the next one begins. Lengthen the lease to at least {}, "
                    "or shorten one of the other times.",
                    exact(renew_deadline), exact(stop_grace), exact(margin), exact(needed), exact(lease),
                    percent(drift), exact(usable), exact(scaled(needed, 1 / (1 - drift)))));
  }
  if (renew_every + store_timeout > renew_deadline) {
    return refuse(fmt::format(
        "renew interval {} + store timeout {} = {}, but the renew deadline is {}: one slow answer would cost a healthy "
        "holder the key. Shorten the renew interval or the store timeout.",
        exact(renew_every), exact(store_timeout), exact(renew_every + store_timeout), exact(renew_deadline)));
  }
  return {};
}

std::vector<std::string> LeaseTiming::warnings() const {
  std::vector<std::string> found;
  if (lease < renew_every * 3) {
    found.push_back(fmt::format("safety margin (lease / renew interval) is {} / {} < 3: two lost renewals end the term",
                                exact(lease), exact(renew_every)));
  }
  if (renew_every + retry + store_timeout * 2 > renew_deadline) {
    found.push_back(fmt::format(
        "only one renewal fits into the renew deadline: {} + {}, then {} + {} would end after {}", exact(renew_every),
        exact(store_timeout), exact(retry), exact(store_timeout), exact(renew_deadline)));
  }
  return found;
}

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

// Its full duration is unknown, but longer than the wait.
std::optional<LeaseTiming> AdaptiveTiming::failed() {
  since_change_ = 0;
  return change_to(std::min(timing_.lease, settings_.lease_max / 2) * 2);
}

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
  return static_cast<std::size_t>(std::ranges::count_if(changes_, [&](Instant t) { return t > from; }));
}

}  // namespace bellwether::election
