// The clock that one simulated member lives by: a rate, and where it began.
#pragma once

#include "core/base/time.h"

namespace bellwether::sim {

struct LocalClock {
  Instant base_world;
  Instant base_local;
  double rate = 1;

  Instant local(Instant world) const {
    return base_local + Duration::nanos(static_cast<int64_t>(static_cast<double>((world - base_world).ns()) * rate));
  }
  // The first world time at which the clock shows at least this.
  Instant world_at(Instant when) const {
    if (when == Instant::never()) return Instant::never();
    const double span = static_cast<double>((when - base_local).ns()) / rate;
    return base_world + Duration::nanos(static_cast<int64_t>(span) + 1);
  }
  void set_rate(Instant world, double new_rate) {
    base_local = local(world);
    base_world = world;
    rate = new_rate;
  }
};

}  // namespace bellwether::sim
