// What the process behind a claim proves about it. A claim is known to be dead only on proof: the process id belongs to
// nobody, or to a process that started at another time, or the machine has started again since. What cannot be told
// counts as alive: a process of another machine or container, one that the system hides.
#pragma once

#include <string>

#include "core/runtime/epoll/processes.h"
#include "election/lease_record.h"

namespace bellwether::store {

struct Proof {
  election::HolderSight sight = election::HolderSight::kUnknown;
  std::string why;  // in words, for kDead
};

// `holder` as the claim says, `self` who asks, `seen` what the system shows of the holder's process id. `one_machine`:
// the claim cannot be of another machine, because the disk is this one's own.
Proof judge_process(const runtime::ProcessIdentity& holder, const runtime::ProcessIdentity& self,
                    const runtime::ProcessSight& seen, bool one_machine);

}  // namespace bellwether::store
