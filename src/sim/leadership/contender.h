// One contender in a leadership world: an Elector, the clock it lives by, the work it guards, and what it keeps on its
// disk. Its times are local; those of the world are named so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "election/elector.h"
#include "sim/local_clock.h"

namespace bellwether::sim {

struct Contender : LocalClock {
  uint32_t index = 0;
  uint32_t life = 0;  // grows with each start
  bool up = false;
  bool paused = false;
  bool suspended = false;  // paused with the whole machine
  std::optional<election::Elector> elector;
  uint64_t wake_number = 0;

  // What is in flight: the answer to an older question is thrown away.
  uint64_t question = 0;
  bool asking = false;
  Instant asked_local;

  // The guarded work, and the guardian that kills it in time even when the elector's process gets no turns.
  bool working = false;
  bool hung = false;
  uint64_t work_number = 0;
  election::Epoch work_epoch;
  Instant term_ends;         // local; as the guard shows it
  Instant kill_at;           // local; no act of the work comes later
  Duration believed_longer;  // by the mistake of counting from the answer

  std::vector<election::Event> missed;  // what came while it was paused
  election::Epoch kept_floor;           // on its disk
};

}  // namespace bellwether::sim
