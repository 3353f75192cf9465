// A world of members with all faults drawn from one seed: crashes, restarts with memory, with older memory and without,
// leaves, two processes under one name, stalls, full and one-way partitions, bridges, rings of majorities, flapping
// links, swizzle-clog, loss, duplicates, and clocks that run at different rates. Only the owner of an incarnation ever
// raises it. When the world is whole again, all views must agree with it in time, and declare no living member dead any
// more.
#pragma once

#include <span>

#include "sim/harness/worlds.h"

namespace bellwether::sim {

WorldRow membership_world();

// The anomaly grid: `seeds` selects the portion to run, 1000 and more the whole, less a part spread over it. And the
// time until groups of 3 to 10,000 see a crash, with the cost of an idle group of 1,000.
std::span<const Measurement> membership_measurements();

}  // namespace bellwether::sim
