// What every simulated member has, whatever kernel it runs: the clock it lives by, its process, and the work that it
// guards while it leads. Its times are local; those of the world are named so.
#pragma once

#include <cstdint>

#include "election/epoch.h"
#include "sim/local_clock.h"

namespace bellwether::sim {

struct GroupMember {
  uint32_t index = 0;
  LocalClock clock;

  uint32_t life = 0;  // grows with each start
  bool up = false;
  bool paused = false;
  bool suspended = false;  // paused with the whole machine
  uint64_t wake_number = 0;

  // The guarded work: see group_work.h.
  bool working = false;
  bool hung = false;  // the work moves no more, and stops only when it is killed
  uint64_t work_number = 0;
  election::Term work_term;
  Instant term_ends;  // as the work is told
  Instant stop_by;    // no act of the work comes later
};

}  // namespace bellwether::sim
