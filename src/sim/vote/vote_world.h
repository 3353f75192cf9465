// A world of nodes that elect an admin by scored votes, small and fast enough for millions of runs: the product's
// VoteElector in each, with networks, disks and clocks that break as one seed says, and scores that change and lie.
//
// Only the assumptions of the safety argument (docs/advanced/scored-votes.md) do not break. A disk keeps what it has
// confirmed, or its node meets another one that sees the loss. Clocks keep within the declared drift. Fewer than half
// of the nodes lose their records. No node with a key votes twice.
#pragma once

#include <cstdint>

#include "election/vote/vote_timing.h"
#include "sim/group/group_work.h"
#include "sim/harness/worlds.h"

namespace bellwether::sim {

WorldRow vote_world();

// Of a healthy group of `nodes`.
Takeover measure_vote_takeover(uint64_t seed, std::size_t nodes, const vote::VoteTiming& timing);

// The changes of the admin of a healthy group of five in `time` while every score goes up and down.
uint32_t changes_under_noise(uint64_t seed, Duration time);

}  // namespace bellwether::sim
