// What is seen of a key, in words and figures for people. Pure.
#pragma once

#include <string>

#include "core/base/time.h"
#include "election/lease_record.h"

namespace bellwether::lead {

// From one time of the wall clock to another.
Duration between(WallTime from, WallTime to);

// What is left of the lease: as the store says, or else by the wall clocks of this machine and of the holder, which is
// for people only. Negative when it is over.
Duration left_of(const election::Observation& seen, WallTime now);
// "1234 ms", "overdue", "-" when nobody holds the key.
std::string left_text(const election::Observation& seen, WallTime now);
// "5m ago", by this machine's wall clock against the one of whoever wrote it; "-" when it is not known.
std::string ago(WallTime then, WallTime now);
// "held", "free: released by ops", "holder is dead: …".
std::string status_of(const election::Observation& seen);

}  // namespace bellwether::lead
