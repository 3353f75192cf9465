// A world of nodes, some of which keep the register of one job: the product's acceptor and owner in each, with
// networks, disks and clocks that break as one seed says, while all nodes want to own the job, write it and read it. In
// half of the worlds operators change the set of replicas meanwhile, and machines are lost with their disks. A checker
// compares every answer with the history. Writes and reads must take effect one after the other, each between its
// question and its answer (linearizability, Herlihy and Wing, 1990). No two owners may have one fence, and no two may
// believe at once that they hold the job. A set of replicas has one number. In the end everything is made whole, no
// change is under way, and a node must own the job.
#pragma once

#include "sim/harness/worlds.h"

namespace bellwether::sim {

WorldRow register_world();

}  // namespace bellwether::sim
