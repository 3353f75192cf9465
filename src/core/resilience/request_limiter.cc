#include "core/resilience/request_limiter.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/enum_names.h"

namespace bellwether::resilience {
namespace {

// A little later rather than a little too early.
Duration of_window(Duration window, double ratio) {
  return Duration::nanos(static_cast<int64_t>(std::ceil(static_cast<double>(window.ns()) * ratio)) + 1);
}

double progress(Instant now, Duration window) {
  return static_cast<double>(now.ns() % window.ns()) / static_cast<double>(window.ns());
}

// Of a token: a rounding error does not count as missing.
constexpr double kRounding = 1e-6;

}  // namespace

std::string_view to_string(Operation operation) {
  static constexpr EnumNames<Operation> kNames("statistics", "heartbeat", "progress", "submit", "status", "dispatch",
                                               "cancel", "fetch", "piece", "other");
  return kNames[operation];
}

void SlidingCounter::move_to(Instant now, Duration window) {
  const int64_t number = now.ns() / window.ns();
  if (number == number_) return;
  before_ = number == number_ + 1 ? current_ : 0;
  current_ = 0;
  number_ = number;
}

double SlidingCounter::counted(Instant now, Duration window) const {
  SlidingCounter moved = *this;
  moved.move_to(now, window);
  return moved.current_ + moved.before_ * (1 - progress(now, window));
}

void SlidingCounter::count(Instant now, Duration window) {
  move_to(now, window);
  current_ += 1;
}

// Within a window the count shrinks evenly, by the rest of the window before; in the next window, that of this one
// does.
Duration SlidingCounter::wait(Instant now, Duration window, double most) const {
  SlidingCounter moved = *this;
  moved.move_to(now, window);
  const double room = most - 1;
  const double at = progress(now, window);
  if (moved.current_ <= room) {
    if (moved.before_ <= 0) return Duration::zero();
    const double free_at = 1 - (room - moved.current_) / moved.before_;
    return free_at <= at ? Duration::zero() : of_window(window, free_at - at);
  }
  return of_window(window, 1 - at + 1 - room / moved.current_);
}

RequestLimiter::RequestLimiter(const LimiterSettings& settings) : settings_(settings) {
  check(settings.window > Duration::zero() && settings.node_factor > 0 && settings.stressed > 0 &&
            settings.clients_most > 0,
        "settings of a limiter make sense");
  check(std::ranges::all_of(settings.limits, [](uint32_t limit) { return limit > 0; }),
        "who may do nothing at all is refused elsewhere");
}

double RequestLimiter::limit(Party party, Operation operation) const {
  const double limit = settings_.limits[static_cast<std::size_t>(operation)];
  return party == Party::kNode ? limit * settings_.node_factor : limit;
}

double RequestLimiter::fair_share() const {
  return std::max(1.0,
                  static_cast<double>(settings_.stressed) / static_cast<double>(std::max<std::size_t>(1, clients_)));
}

void RequestLimiter::forget(std::list<Client>::iterator which) {
  if (which->party == Party::kClient) --clients_;
  by_key_.erase(which->key);
  recent_.erase(which);
}

RequestLimiter::Client& RequestLimiter::client(Instant now, Party party, std::string_view who) {
  while (!recent_.empty() && now - recent_.back().seen > settings_.forget_after) forget(std::prev(recent_.end()));
  // A client that bears the name of a node has none of its budget.
  std::string key = (party == Party::kNode ? "n" : "c") + std::string(who);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
  } else {
    if (recent_.size() >= settings_.clients_most) forget(std::prev(recent_.end()));
    recent_.push_front({.key = key, .party = party});
    by_key_.emplace(std::move(key), recent_.begin());
    if (party == Party::kClient) ++clients_;
  }
  recent_.front().seen = now;
  return recent_.front();
}

std::optional<Duration> RequestLimiter::refuses(Instant now, Party party, std::string_view who, Operation operation,
                                                LoadState state) {
  Client& one = client(now, party, who);
  SlidingCounter& counter = one.operations[static_cast<std::size_t>(operation)];
  const Duration window = settings_.window;
  const double most = limit(party, operation);
  Duration wait = counter.wait(now, window, most);
  const bool shares = party == Party::kClient && state >= LoadState::kStressed;
  if (shares) {
    wait = std::max({wait, one.all.wait(now, window, fair_share()), all_.wait(now, window, settings_.stressed)});
  }
  if (wait > Duration::zero()) return wait;
  counter.count(now, window);
  one.all.count(now, window);
  if (shares) all_.count(now, window);
  return std::nullopt;
}

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

TokenBucket::TokenBucket(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {
  check(per_second > 0 && burst >= 1, "it lets something through");
}

void TokenBucket::fill(Instant now) {
  if (now <= filled_) return;
  tokens_ = std::min(burst_, tokens_ + (now - filled_).seconds_f() * per_second_);
  filled_ = now;
}

bool TokenBucket::take(Instant now) {
  fill(now);
  if (tokens_ < 1 - kRounding) return false;
  tokens_ -= 1;
  return true;
}

Instant TokenBucket::ready(Instant now) {
  fill(now);
  if (tokens_ >= 1 - kRounding) return now;
  return now + Duration::from_seconds_f((1 - tokens_) / per_second_);
}

}  // namespace bellwether::resilience
