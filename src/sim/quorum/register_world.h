// A world of peers that keep the register of one job: the product's acceptor and owner in each, and between and under
// them networks, disks and clocks that break as one seed says, while everybody wants to own the job, write it and read
// it. A checker compares every answer with the history: writes and reads must take effect one after the other, each
// between its asking and its answer (linearizability, Herlihy and Wing, 1990), no two owners may have one fence, and no
// two may believe at once that they hold the job. At last everything is made whole, and somebody must own it.
#pragma once

#include "sim/harness/worlds.h"

namespace bellwether::sim {

WorldRow register_world();

}  // namespace bellwether::sim
