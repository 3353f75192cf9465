// How often something may be done: so many times a second, and a few more at once after a pause. A kernel: no clock.
#pragma once

#include "core/base/time.h"

namespace bellwether::resilience {

class TokenBucket {
 public:
  // Full at its begin. REQUIRES a rate above zero, and a burst of at least one.
  TokenBucket(double per_second, double burst);

  // Takes one. False: there is none, and nothing was taken. Times do not run backwards.
  bool take(Instant now);
  // When there is one; not after `now`: at once.
  Instant ready(Instant now);

 private:
  void fill(Instant now);

  double per_second_;
  double burst_;
  double tokens_;
  Instant filled_;
};

}  // namespace bellwether::resilience
