// A world of members that elect a leader among them, small and fast enough for millions of runs: the product's
// QuorumElector in each, and between and under them networks, disks and clocks that break as one seed says. First
// faults happen while a checker watches what must always hold; then everything is made whole, and somebody must lead
// within the budget, stay, hand over when asked to, and be followed in time when crashed.
//
// What is not permitted to break is what the safety argument assumes (docs/cluster/election.md): a disk keeps what it
// has confirmed, or its member meets somebody who can tell; clocks keep within the declared drift; fewer than half of
// the members lose their records.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "sim/quorum/quorum_mistake.h"

namespace bellwether::sim {

struct QuorumRun {
  std::string violation;  // empty: everything held
  uint64_t fingerprint = 0;
  uint32_t members = 0;
  uint32_t terms = 0;
  uint64_t events = 0;
  uint32_t refused_acts = 0;  // by the guarded resource
  Duration lived;             // how much time passed in the world
  Duration takeover;          // from the crash of a healthy leader to the next one; 0: not measured
  Duration hand_over;         // from the end of the old term to the new one
  std::string trace;          // when asked for: what happened, a line each
};

QuorumRun live_quorum(uint64_t seed, QuorumMistake mistake = QuorumMistake::kNone, bool trace = false);

// A healthy group of so many members in the LAN profile, in which nothing breaks: its leader is crashed, or hands over.
struct QuorumTakeover {
  Duration crash;
  Duration hand_over;
};
QuorumTakeover measure_takeover(uint64_t seed, std::size_t members);

// How many needless changes of the leader there are in so much time with a healthy leader, and as many of the
// other voters as there may be at once stalling again and again and suspecting everybody.
struct QuorumCalm {
  uint32_t changes = 0;
  uint64_t stalls = 0;
  uint64_t suspicions = 0;
};
QuorumCalm live_under_stress(uint64_t seed, Duration time);

}  // namespace bellwether::sim
