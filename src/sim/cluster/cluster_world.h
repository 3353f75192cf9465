// A world of three to five whole nodes: the product's drivers, links and kernels on a simulated network with simulated
// disks and clocks. While everything breaks, a checker watches that no term has two leaders and no two may act at once.
// When all is whole, the nodes must agree on the members and the leader, keep to that, and have another leader soon
// after a power failure of this one.
//
// Only the assumptions of docs/contributing/election.md do not break. A disk keeps what it has confirmed or is seen to
// be another one. Fewer than half of the voters lose theirs. Clocks keep within the declared drift.
#pragma once

#include "sim/harness/worlds.h"

namespace bellwether::sim {

WorldRow cluster_world();

}  // namespace bellwether::sim
