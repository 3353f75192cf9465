// A world of three to five whole nodes: the product's drivers, links and kernels on a simulated network with simulated
// disks and clocks. While everything breaks, a checker watches that no term has two leaders and no two may act at once;
// when all is whole, they must agree on who is there and who leads, stay with that, and have another leader soon when
// this one's power fails.
//
// What does not break is what docs/cluster/election.md assumes: a disk keeps what it has confirmed or is seen to be
// another one, fewer than half of the voters lose theirs, and clocks keep within the declared drift.
#pragma once

#include "sim/harness/worlds.h"

namespace bellwether::sim {

WorldRow cluster_world();

}  // namespace bellwether::sim
