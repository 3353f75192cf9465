// A world of nodes that elect an admin by scored votes, small and fast enough for millions of runs: the product's
// VoteElector in each, and between and under them networks, disks and clocks that break as one seed says, and scores
// that change and lie.
//
// What is not permitted to break is what the safety argument assumes (docs/cluster/vote.md): a disk keeps what it has
// confirmed, or its node meets somebody who can tell; clocks keep within the declared drift; fewer than half of the
// nodes lose their records; nobody who has a key votes twice.
#pragma once

#include <cstdint>

#include "election/vote/vote_timing.h"
#include "sim/group/group_work.h"
#include "sim/harness/worlds.h"

namespace bellwether::sim {

WorldRow vote_world();

// Of a healthy group of so many nodes.
Takeover measure_vote_takeover(uint64_t seed, std::size_t nodes, const vote::VoteTiming& timing);

// How often the admin of a healthy group of five changes in so much time while everybody's score goes up and down.
uint32_t changes_under_noise(uint64_t seed, Duration time);

}  // namespace bellwether::sim
