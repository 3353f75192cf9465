// Decides when a watchdog restarts its process. Pure: each check takes observations and returns an action.
//
// A process is dead when it has ended. It is frozen when it lives but no heartbeat has been seen for the stale
// threshold, counted on the watchdog's clock from the last change of the heartbeat that it saw, or from the start of
// the process. A process that ends with success while the heartbeat goes on has found a healthy leader elsewhere: the
// watchdog restarts it only when that heartbeat falls silent.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "core/base/prng.h"
#include "core/base/time.h"
#include "election/lease_timing.h"

namespace bellwether::lead {

struct WatchdogSettings {
  Duration stale_after = Duration::seconds(120);
  election::BackoffSettings backoff;   // between restarts that follow each other
  std::size_t restarts_per_hour = 20;  // above this it warns
};

// The observations of a check.
struct WatchdogSight {
  bool runs = false;       // the process lives
  bool succeeded = false;  // it has ended, with success
  std::string ended;       // how it ended, in words
  // Names the state of the heartbeat; changes with each. Nothing: it could not be looked at, which proves nothing.
  std::optional<std::string> heartbeat;
};

struct WatchdogAct {
  enum class Kind : unsigned char { kNone, kStart, kRestart };
  Kind kind = Kind::kNone;
  std::string why;
};

class Watchdog {
 public:
  Watchdog(WatchdogSettings settings, uint64_t seed)
      : settings_(settings), prng_(seed), damping_(settings.backoff, std::nullopt) {}

  // Instants are of one monotonic clock. kStart: no process runs, start one. kRestart: end the process, then start one.
  // Report either with started().
  WatchdogAct check(Instant now, const WatchdogSight& sight);
  // An operator wants a restart: the next check asks for one, regardless of what it sees.
  void force() { forced_ = true; }
  void started(Instant now);

  // When to check again at the latest: never(), or when a restart that is held back becomes due.
  Instant due() const { return held_back_until_.value_or(Instant::never()); }
  std::size_t restarts_last_hour(Instant now) const;
  uint64_t restarts() const { return restarts_; }
  bool restarts_too_often(Instant now) const { return restarts_last_hour(now) >= settings_.restarts_per_hour; }

 private:
  WatchdogAct when_due(Instant now, WatchdogAct act);

  WatchdogSettings settings_;
  Prng prng_;
  election::Damping damping_;
  bool forced_ = false;
  bool ever_started_ = false;
  Instant started_;
  std::optional<std::string> heartbeat_;
  std::optional<Instant> heard_;  // when the heartbeat was seen to change last
  std::optional<Instant> held_back_until_;
  std::deque<Instant> times_;  // of the restarts of the last hour
  uint64_t restarts_ = 0;
};

}  // namespace bellwether::lead
