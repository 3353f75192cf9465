// A world of three to five whole nodes: the product's drivers, links and kernels on a simulated network with simulated
// disks and clocks. First everything breaks as one seed says, while a checker watches that no term has two leaders and
// no two may act at once; then all is made whole, and they must agree on who is there and who leads, stay with that,
// and have another leader soon when this one's power fails.
//
// What does not break is what docs/cluster/election.md assumes: a disk keeps what it has confirmed or is seen to be
// another one, fewer than half of the voters lose theirs, and clocks keep within the declared drift.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "sim/cluster/cluster_mistake.h"

namespace bellwether::sim {

struct ClusterRun {
  std::string violation;  // empty: everything held
  uint64_t fingerprint = 0;
  uint32_t nodes = 0;
  uint32_t starts = 0;  // of processes
  uint32_t terms = 0;
  uint64_t events = 0;
  Duration lived;     // how much time passed in the world
  Duration agreed;    // from when all was whole until all agreed
  Duration takeover;  // from the loss of a leader's power to the next one; 0: too few could vote for one
  Duration rejoined;  // from its start after that until all agreed again
  std::string trace;  // when asked for: what happened, a line each
};

ClusterRun live_cluster(uint64_t seed, ClusterMistake mistake = ClusterMistake::kNone, bool trace = false);

}  // namespace bellwether::sim
