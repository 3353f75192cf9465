// Whether this manager does what it could: shares that it has dispatched, against those that a worker has room for and
// that wait for this manager alone, or for the quorum that has to know of them first. A kernel; one thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "base/time.h"
#include "dispatch/share.h"
#include "health/signals.h"

namespace bellwether::node {

class OwnProgress {
 public:
  struct Seen {
    bool has_quorum = false;
    bool accepting_jobs = false;
    uint32_t workers = 0;
    uint32_t jobs = 0;                                            // in its hands
    uint64_t dispatched = 0;                                      // shares, in all; grows
    std::set<std::pair<std::string, dispatch::ShareId>> waiting;  // job and share, placed and not dispatched
  };

  explicit OwnProgress(Instant now) : health_(health::SignalSettings(), now), judged_(now) {}

  // As often as it likes; it is judged once a second.
  void look(Instant now, Seen seen);
  health::Progress progress(Instant now) const { return health_.progress(now); }

 private:
  health::NodeHealth health_;
  Instant judged_;
  Seen before_;
};

}  // namespace bellwether::node
