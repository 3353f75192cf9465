// A world of members in which everything that may go wrong is drawn from one seed: crashes, restarts with memory, with
// older memory and without, leaves, two processes under one name, stalls, full and one-way partitions, bridges, rings
// of majorities, flapping links, swizzle-clog, loss, duplicates, and clocks that run at different rates. First faults,
// while a checker watches what must always hold; then the world is made whole, and all views must agree with it in
// time.
#pragma once

#include <cstdint>
#include <string>

#include "sim/membership/mistake.h"

namespace bellwether::sim {

struct MembershipRun {
  std::string violation;  // empty: everything held
  uint64_t fingerprint = 0;
  uint64_t events = 0;
  uint32_t faults = 0;
  uint32_t members = 0;
  double agreed_after_s = 0;  // from the moment the world was whole
  std::string trace;          // when asked for: what happened, a line each
};

MembershipRun live_membership(uint64_t seed, MembershipMistake mistake = MembershipMistake::kNone, bool trace = false);

}  // namespace bellwether::sim
