#include "lead/agents/watchdog.h"

#include <algorithm>

#include "core/base/units.h"

namespace bellwether::lead {

using Kind = WatchdogAct::Kind;

WatchdogAct Watchdog::check(Instant now, const WatchdogSight& sight) {
  if (sight.heartbeat && sight.heartbeat != heartbeat_) {
    heartbeat_ = sight.heartbeat;
    heard_ = now;
  }
  if (forced_) {
    return {sight.runs ? Kind::kRestart : Kind::kStart, "a restart was requested"};
  }
  const bool blind = !sight.heartbeat;
  if (sight.runs) {
    held_back_until_.reset();
    const Instant last = std::max(heard_.value_or(started_), started_);
    if (blind || now - last < settings_.stale_after) return {};
    return {Kind::kRestart, "it is frozen: alive, but no heartbeat for " + format_duration(now - last)};
  }
  if (!ever_started_) return {Kind::kStart, "this is the first start"};
  // A heartbeat seen for the first time may be old: it gets the threshold to show that it moves.
  const bool others_lead = heard_ && now - *heard_ < settings_.stale_after;
  if (sight.succeeded && (others_lead || blind)) return {};
  return when_due(now, {Kind::kStart, sight.succeeded ? "the heartbeat has stopped" : "it is dead: " + sight.ended});
}

// Restarts that follow each other wait; the first one does not.
WatchdogAct Watchdog::when_due(Instant now, WatchdogAct act) {
  if (!held_back_until_) held_back_until_ = damping_.may_stand_from(now, prng_);
  if (now < *held_back_until_) return {};
  return act;
}

void Watchdog::started(Instant now) {
  forced_ = false;
  held_back_until_.reset();
  started_ = now;
  if (!ever_started_) {
    ever_started_ = true;
    return;
  }
  damping_.leader_changed(now);
  ++restarts_;
  times_.push_back(now);
  while (times_.size() > 1 && (now - times_.front() >= Duration::hours(1) || times_.size() > 1000)) times_.pop_front();
}

std::size_t Watchdog::restarts_last_hour(Instant now) const {
  return static_cast<std::size_t>(
      std::count_if(times_.begin(), times_.end(), [&](Instant t) { return now - t < Duration::hours(1); }));
}

}  // namespace bellwether::lead
