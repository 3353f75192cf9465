// A world of contenders for one key, small and fast enough for millions of runs: the product's Elector in each of them,
// a model of a store between them (store_model.h), and all faults drawn from one seed. In the end a contender must lead
// within the budget, stay, and have a timely successor after a crash.
//
// It leaves out parts of the worlds that run the whole runtime (machine_world.h): messages are moved as values, without
// TCP and without a disk under the store. It keeps the causes of failed elections: delays, losses, pauses, clocks,
// crashes between any two steps, and stores that come back with less than they had.
#pragma once

#include <span>

#include "sim/harness/worlds.h"

namespace bellwether::sim {

// A world for each kind of store.
std::span<const WorldRow> leadership_worlds();

}  // namespace bellwether::sim
