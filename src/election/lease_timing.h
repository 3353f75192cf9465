// The times of a lease, and the arithmetic that makes them safe.
//
// A holder counts from the moment it sent a renewal; others count from the moment they saw its effect, which is later.
// The holder's term ends after `renew_deadline`, and its work stops within `stop_grace` after that. Both, with a margin
// for a late wake-up, fit into the lease on the slowest permitted clock:
//
//   renew_deadline + stop_grace + margin <= lease x (1 - drift)       (holder)
//   others wait for lease x (1 + drift)                                (candidate)
//
// So with two clocks that run within `drift` of true time, the last act of the old holder comes before the first one of
// the new holder. The rule is that of Gray and Cheriton (1989), with the stopping of the work added.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/base/prng.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::election {

struct LeaseTiming {
  Duration lease = Duration::seconds(15);
  Duration renew_every = Duration::seconds(5);
  Duration renew_deadline = Duration::seconds(10);
  Duration stop_grace = Duration::millis(3850);
  Duration margin = Duration::seconds(1);
  Duration retry = Duration::seconds(2);            // between looks of a candidate, and between failed renewals
  Duration store_timeout = Duration::millis(1500);  // of one operation
  double drift = 0.01;                              // how far a clock may run from true time, as a share
  double jitter = 0.2;                              // each wait is drawn from [1 - jitter, 1] of its value

  // All from the lease: renew every third of it, deadline at two thirds, the rest for stopping.
  static LeaseTiming of(Duration lease);
  // Refuses unsafe times, with the arithmetic that shows it.
  Status validate() const;
  // Safe but unwise settings, one sentence each.
  std::vector<std::string> warnings() const;

  // How long the last act of a holder's work may come after the renewal that was sent last.
  Duration last_act() const { return renew_deadline + stop_grace; }
  // How long a candidate must have seen a record unchanged before it may take it. `lease_of_record`: the record's
  // lease.
  Duration takeable_after(Duration lease_of_record) const;
};

// A lease that follows the store: longer when renewals take longer, shorter again after a while of quick ones. It grows
// at once, because a lease that is too short loses the key. It shrinks slowly, because one that is too long only costs
// time after a crash. All its other times keep their proportions (LeaseTiming::of), so the safety margin of three
// renewals in a lease never shrinks.
struct AdaptiveSettings {
  Duration lease_min = Duration::seconds(5);
  Duration lease_max = Duration::seconds(60);
  int latencies = 30;       // the lease is so many times the slowest renewal of late
  std::size_t window = 64;  // renewals that are remembered
};

class AdaptiveTiming {
 public:
  // REQUIRES 0 < lease_min <= lease_max. Begins with `first`, brought within the bounds.
  AdaptiveTiming(AdaptiveSettings settings, Duration first);

  // A renewal was confirmed after `took`, or has failed. Returns new times if they change from now on.
  std::optional<LeaseTiming> renewed(Duration took);
  std::optional<LeaseTiming> failed();

  const LeaseTiming& timing() const { return timing_; }

 private:
  std::optional<LeaseTiming> change_to(Duration lease);
  Duration bounded(Duration lease) const;

  AdaptiveSettings settings_;
  LeaseTiming timing_;
  std::deque<Duration> took_;
  std::size_t since_change_ = 0;
};

// The n-th election within the window waits for a time drawn from the n-th range; later ones from the last.
struct BackoffSettings {
  Duration window = Duration::minutes(10);
  struct Range {
    Duration low;
    Duration high;
  };
  Range first;
  Range second{Duration::seconds(5), Duration::seconds(10)};
  Range later{Duration::seconds(15), Duration::seconds(30)};
};

// This number of leader changes within the window is flapping; then no candidate stands for the cool-down.
struct FlapSettings {
  std::size_t changes = 4;
  Duration window = Duration::seconds(60);
  Duration cooldown = Duration::seconds(30);
};

// Limits how fast elections follow each other. Both kinds of damping only delay, by a bounded time: a lone candidate
// gets its turn.
class Damping {
 public:
  Damping(std::optional<BackoffSettings> backoff, std::optional<FlapSettings> flap) : backoff_(backoff), flap_(flap) {}

  // A holder was seen that is not the one before.
  void leader_changed(Instant now);
  // The key has become free at `now`: from when on this candidate may stand. Draws once for each vacancy.
  Instant may_stand_from(Instant now, Prng& prng);

  bool cooling_down(Instant now) const { return now < cooldown_until_; }

 private:
  static constexpr std::size_t kMaxRemembered = 64;
  std::size_t changes_since(Instant from) const;

  std::optional<BackoffSettings> backoff_;
  std::optional<FlapSettings> flap_;
  std::deque<Instant> changes_;
  Instant cooldown_until_;
};

}  // namespace bellwether::election
