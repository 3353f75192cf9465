// A world of contenders for one key, small and fast enough for millions of runs: the product's Elector in each of them,
// a model of a store between them (store_model.h), and everything that may go wrong drawn from one seed. At last
// somebody must lead within the budget, stay, and be followed in time when crashed.
//
// It differs from the worlds that run the whole runtime (machine_world.h) in what it leaves out: messages are moved as
// values, there is no TCP and no disk under the store. What it keeps is what elections fail on: delays, losses, pauses,
// clocks, crashes between any two steps, and stores that come back with less than they had.
#pragma once

#include <span>

#include "sim/harness/worlds.h"

namespace bellwether::sim {

// One for each kind of store.
std::span<const WorldRow> leadership_worlds();

}  // namespace bellwether::sim
