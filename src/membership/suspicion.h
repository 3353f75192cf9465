// A suspicion under way: who accuses whom, and when it becomes a death unless it is refuted. The more members have
// found the suspect silent independently of each other, the sooner (Lifeguard, LHA-Suspicion):
//
//   timeout = max(min, max − (max − min) · log(C + 1) / log(K + 1))
//
// with C accusers beside the first and K of them enough. Time in which this node heard nobody is not counted.
#pragma once

#include "base/time.h"
#include "membership/directory.h"
#include "membership/update.h"

namespace bellwether::membership {

struct Suspicion {
  NodeIndex node = 0;
  uint32_t incarnation = 0;
  Instant since;
  Duration min;
  Duration max;
  int enough = 0;        // K
  Accusers accusers;     // the first one included
  Duration deaf_before;  // what this node had been deaf in total when the suspicion began
  Duration extended;     // held by the correlation guard for so long
  bool guarded = false;  // it was held once

  // How long it lasts with the accusers that there are.
  Duration timeout() const;
};

Duration suspicion_timeout(Duration min, Duration max, int confirmations, int enough);

}  // namespace bellwether::membership
