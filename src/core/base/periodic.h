// The one source of periods. A node takes from here the time until the next round of each repeated activity
// (heartbeats, health checks, exchanges of state, refreshes, reconnections). So nodes that were started together do not
// act together for ever. A period always has a base and a spread.
#pragma once

#include "core/base/check.h"
#include "core/base/prng.h"
#include "core/base/time.h"

namespace bellwether {

struct Period {
  Duration base;
  Duration spread;  // added, uniform in [0, spread]

  // A tenth of the base as its spread: the default.
  static constexpr Period about(Duration base) { return {base, base / 10}; }
  // Up to a tenth earlier, and never later: for deadlines, such as the renewal of a lease.
  static constexpr Period up_to(Duration most) { return {most - most / 10, most / 10}; }
};

class Periodic {
 public:
  // REQUIRES a base above zero and a spread that is not negative.
  Periodic(Period period, Prng prng) : period_(period), prng_(prng) {
    check(period.base > Duration::zero() && period.spread >= Duration::zero(), "a period is longer than nothing");
  }

  Duration next() { return period_.base + prng_.between(Duration::zero(), period_.spread); }
  // The first time, anywhere in a period: nodes that start at once are apart from the beginning.
  Duration first() { return prng_.between(Duration::zero(), period_.base + period_.spread); }

 private:
  Period period_;
  Prng prng_;
};

}  // namespace bellwether
