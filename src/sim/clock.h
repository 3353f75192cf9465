// The clocks of one simulated node as functions of world time: each runs at its own rate and starts where it likes.
#pragma once

#include "base/time.h"

namespace bellwether::sim {

class Clock {
 public:
  struct Start {
    Instant monotonic;    // what the clocks say when they start
    Duration boot_ahead;  // by how much the boot clock is ahead of the monotonic one: the machine has slept
    WallTime wall;
  };
  Clock(Instant world, Start start, int64_t drift_ppm);

  Instant monotonic(Instant world) const;
  Instant boot(Instant world) const { return monotonic(world) + boot_ahead_; }
  WallTime wall(Instant world) const { return {wall_ahead_ + monotonic(world).ns()}; }

  // The first world time at which the monotonic clock shows at least `local`.
  Instant world_at(Instant local) const;
  // The same for the boot clock.
  Instant world_at_boot(Instant boot) const { return world_at(boot - boot_ahead_); }

  // From now on the clocks gain so many microseconds in each second of the world. REQUIRES more than -1,000,000: no
  // clock stands still.
  void set_drift(Instant world, int64_t ppm);
  int64_t drift_ppm() const { return drift_ppm_; }
  // Somebody sets the wall clock.
  void step_wall(Duration by) { wall_ahead_ += by.ns(); }
  // The machine has slept so long: the boot clock saw it, the monotonic one did not. REQUIRES by >= 0.
  void step_boot(Duration by);

 private:
  Instant world_base_;  // the rate holds from here on,
  Instant local_base_;  // where the monotonic clock showed this
  int64_t drift_ppm_;
  Duration boot_ahead_;
  int64_t wall_ahead_;
};

}  // namespace bellwether::sim
