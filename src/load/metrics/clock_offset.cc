#include "load/metrics/clock_offset.h"

#include <algorithm>

namespace bellwether::metrics {

Instant ClockOffset::heard(Instant now, Instant written) {
  const Duration seen = now - written;
  if (!heard_ || now - began_ >= kSpan) {
    const bool follows = heard_ && now - began_ < kSpan * 2;
    least_before_ = follows ? least_ : Duration::max();
    least_ = seen;
    began_ = now;
    heard_ = true;
  }
  least_ = std::min(least_, seen);
  return now - (seen - std::min(least_, least_before_));
}

}  // namespace bellwether::metrics
