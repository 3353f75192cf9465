// One member in a simulated group: the product's elector, the clock it lives by, its disk, and the work it guards.
// Its times are local; those of the world are named so.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "election/quorum/quorum_elector.h"
#include "sim/local_clock.h"

namespace bellwether::sim {

struct QuorumMember {
  uint32_t index = 0;
  quorum::MemberId id;
  LocalClock clock;

  uint32_t life = 0;  // grows with each start
  bool up = false;
  bool paused = false;
  bool suspended = false;  // paused with the whole machine
  bool removed = false;    // from the group, or never yet in it
  bool gone = false;       // for good: another process has taken its place
  std::optional<quorum::QuorumElector> elector;
  uint64_t wake_number = 0;
  std::vector<quorum::Event> missed;  // what came while it was paused

  // Its disk: what is on it, oldest first, and what is on the way there.
  std::vector<quorum::Record> disk;
  struct Write {
    quorum::Record record;
    uint64_t number;
  };
  std::deque<Write> writes;
  uint64_t write_number = 0;
  Instant disk_free_world;
  double sync_fails = 0;
  Duration sync_slow;  // at most this much longer than usual
  bool lost = false;   // its record was lost once: it can only follow
  uint64_t state = 0;  // how new its other durable state is

  // The guarded work, and the guardian that ends it in time even when the elector's process gets no turns.
  bool working = false;
  uint64_t work_number = 0;
  quorum::Term work_term;
  Instant stop_by;
};

}  // namespace bellwether::sim
