// A world of contenders for one key, small and fast enough for millions of runs: the product's Elector in each of them,
// a model of a store between them, and everything that may go wrong drawn from one seed. First faults happen while a
// checker watches what must always hold; then everything is made whole, and somebody must lead within the budget and
// stay.
//
// It differs from the worlds that run the whole runtime (world.h) in what it leaves out: messages are moved as values,
// there is no TCP and no disk under the store. What it keeps is what elections fail on: delays, losses, pauses, clocks,
// crashes between any two steps, and stores that come back with less than they had.
#pragma once

#include <cstdint>
#include <string>

#include "sim/leadership/mistake.h"
#include "sim/leadership/store_model.h"

namespace bellwether::sim {

struct LeadershipRun {
  std::string violation;  // empty: everything held
  uint64_t fingerprint = 0;
  uint32_t terms = 0;
  uint32_t events = 0;
  uint32_t refused_acts = 0;  // by the guarded resource
  std::string trace;          // when asked for: what happened, a line each
};

LeadershipRun live_leadership(Mechanism mechanism, uint64_t seed, LeadershipMistake mistake = LeadershipMistake::kNone,
                              bool trace = false);

}  // namespace bellwether::sim
