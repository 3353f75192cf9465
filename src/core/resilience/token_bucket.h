// A rate limit: a number of operations a second, and a few more at once after a pause. A kernel: no clock.
#pragma once

#include "core/base/time.h"

namespace bellwether::resilience {

class TokenBucket {
 public:
  // Full at its begin. REQUIRES a rate above zero, and a burst of at least one.
  TokenBucket(double per_second, double burst);

  // Takes a token. False: the bucket is empty, and stays as it was. Times do not run backwards.
  bool take(Instant now);
  // When the next token is ready; not after `now`: at once.
  Instant ready(Instant now);

 private:
  void fill(Instant now);

  double per_second_;
  double burst_;
  double tokens_;
  Instant filled_;
};

}  // namespace bellwether::resilience
