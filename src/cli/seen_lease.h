// One look at a lease, for commands that show or judge it.
#pragma once

#include <string>

#include "base/result.h"
#include "election/lease_record.h"
#include "runtime/runtime.h"

namespace bellwether::cli {

// What the store shows of the key now. Talks to the store for at most `timeout`.
runtime::task<Result<election::Observation>> look_at_lease(runtime::Runtime& runtime, std::string url, std::string key,
                                                           Duration timeout);

// What is left of the lease: as the store says, or else by the wall clocks of this machine and of the holder, which is
// for people only. Negative when it is over.
Duration left_of(const election::Observation& seen, WallTime now);

// From one time of the wall clock to another.
Duration between(WallTime from, WallTime to);

}  // namespace bellwether::cli
