// A world of nodes that elect an admin by scored votes, small and fast enough for millions of runs: the product's
// VoteElector in each, and between and under them networks, disks and clocks that break as one seed says, and scores
// that change and lie. First faults happen while a checker watches what must always hold; then everything is made
// whole, and somebody must lead within the budget, stay, hand over when asked to, and be followed in time when crashed.
//
// What is not permitted to break is what the safety argument assumes (docs/cluster/vote.md): a disk keeps what it has
// confirmed, or its node meets somebody who can tell; clocks keep within the declared drift; fewer than half of the
// nodes lose their records; nobody who has a key votes twice.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "election/vote/vote_timing.h"
#include "sim/vote/vote_mistake.h"

namespace bellwether::sim {

struct VoteRun {
  std::string violation;  // empty: everything held
  uint64_t fingerprint = 0;
  uint32_t nodes = 0;
  uint32_t terms = 0;
  uint64_t events = 0;
  uint32_t refused_acts = 0;  // by the guarded resource
  Duration lived;             // how much time passed in the world
  std::string trace;          // when asked for: what happened, a line each
};

VoteRun live_vote(uint64_t seed, VoteMistake mistake = VoteMistake::kNone, bool trace = false);

// A healthy group of so many nodes, in which nothing breaks: its admin is crashed, or hands over.
struct VoteTakeover {
  Duration crash;      // from the crash to the next admin
  Duration hand_over;  // from the end of the old term to the new one
};
VoteTakeover measure_vote_takeover(uint64_t seed, std::size_t nodes, const vote::VoteTiming& timing);

// How often the admin of a healthy group of five changes in so much time while everybody's score goes up and down.
uint32_t changes_under_noise(uint64_t seed, Duration time);

}  // namespace bellwether::sim
