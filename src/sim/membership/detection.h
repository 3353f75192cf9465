// How long a group takes to notice a crash, and what a group costs in which nothing happens.
#pragma once

#include <cstdint>

#include "cluster/membership/profile.h"
#include "sim/membership/member_world.h"

namespace bellwether::sim {

struct DetectionCase {
  std::size_t members = 100;
  std::size_t crashes = 20;  // one after the other, each in a whole group
  uint64_t seed = 1;
  double loss = 0;
};

// Seconds from the crash until the first member, and until all others, hold the crashed one dead.
struct Detection {
  double first_p50 = 0;
  double first_p99 = 0;
  double all_p50 = 0;
  double all_p99 = 0;
  uint64_t missed = 0;           // not noticed by all within two minutes
  uint64_t false_positives = 0;  // deaths of others meanwhile
};
Detection measure_detection(const membership::Figures& figures, const DetectionCase& one);

// What one node of an idle group sends in a second, on average: everything included.
struct IdleCost {
  double messages = 0;
  double bytes = 0;
};
IdleCost measure_idle(const membership::Figures& figures, std::size_t members, Duration over, uint64_t seed);

}  // namespace bellwether::sim
