// A world of members that elect a leader among them, small and fast enough for millions of runs: the product's
// QuorumElector in each, with networks, disks and clocks that break as one seed says.
//
// Only the assumptions of the safety argument (docs/contributing/election.md) do not break. A disk keeps what it has
// confirmed, or its member meets another one that sees the loss. Clocks keep within the declared drift. Fewer than half
// of the members lose their records.
#pragma once

#include <cstdint>

#include "sim/group/group_work.h"
#include "sim/harness/worlds.h"

namespace bellwether::sim {

WorldRow quorum_world();

// Of a healthy group of `members` in the LAN profile.
Takeover measure_takeover(uint64_t seed, std::size_t members);

// The needless changes of the leader in `time` with a healthy leader, while the largest permitted number of other
// voters stalls again and again and suspects every member.
struct QuorumCalm {
  uint32_t changes = 0;
  uint64_t stalls = 0;
  uint64_t suspicions = 0;
};
QuorumCalm live_under_stress(uint64_t seed, Duration time);

}  // namespace bellwether::sim
