// Limits how fast elections follow each other. Both kinds of damping only delay, by a bounded time: a lone candidate
// gets its turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/base/prng.h"
#include "core/base/time.h"

namespace bellwether::election {

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
