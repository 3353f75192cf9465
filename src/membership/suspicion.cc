#include "membership/suspicion.h"

#include <algorithm>
#include <cmath>

namespace bellwether::membership {

Duration suspicion_timeout(Duration min, Duration max, int confirmations, int enough) {
  if (enough < 1) return min;
  const double share = std::log(confirmations + 1.0) / std::log(enough + 1.0);
  return std::max(min, Duration::from_seconds_f(max.seconds_f() - (max - min).seconds_f() * share));
}

Duration Suspicion::timeout() const {
  const int confirmations = accusers.empty() ? 0 : static_cast<int>(accusers.size()) - 1;
  return suspicion_timeout(min, max, confirmations, enough) + extended;
}

}  // namespace bellwether::membership
