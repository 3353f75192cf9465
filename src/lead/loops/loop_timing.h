// From the times of a policy sheet to those of a candidate. A sheet says three: how often a process looks, how long the
// lock lives, and how often it is renewed while a tick runs. Everything else follows. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "election/lease_timing.h"
#include "lead/policy/policy.h"

namespace bellwether::lead {

struct LoopTiming {
  election::LeaseTiming standing;  // while somebody else's turn: one look a poll
  election::LeaseTiming leading;   // failed renewals are repeated soon
  // A holder between two ticks extends its lease at each poll, and at the latest so long after the last time.
  Duration extend_within;
  bool renews_in_ticks = true;
  std::vector<std::string> warnings;
};

// kInvalid when no times follow that are safe, or when the store cannot keep leases this short.
Result<LoopTiming> timing_of(const LoopPolicy& loop, Duration lease_min);

}  // namespace bellwether::lead
