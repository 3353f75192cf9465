// The round-trip time to one member as probes have seen it: mean and mean deviation, smoothed as in TCP (RFC 6298,
// gains 1/8 and 1/4), in whole microseconds so that a member record stays small.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace bellwether::membership {

struct RoundTrip {
  uint32_t mean_us = 0;  // 0: not measured yet
  uint32_t deviation_us = 0;

  void add(Duration sample) {
    const int64_t us = std::clamp<int64_t>(sample.us(), 1, 60'000'000);
    if (mean_us == 0) {
      mean_us = static_cast<uint32_t>(us);
      deviation_us = static_cast<uint32_t>(us / 2);
      return;
    }
    const int64_t error = us - int64_t{mean_us};
    deviation_us = static_cast<uint32_t>((3 * int64_t{deviation_us} + std::max(error, -error)) / 4);
    mean_us = static_cast<uint32_t>(std::max<int64_t>(1, (7 * int64_t{mean_us} + us) / 8));
  }
  // mean + 4 deviations within the bounds; the upper bound when nothing was measured.
  Duration timeout(Duration low, Duration high) const {
    if (mean_us == 0) return high;
    return std::clamp(Duration::micros(int64_t{mean_us} + 4 * int64_t{deviation_us}), low, high);
  }
};

}  // namespace bellwether::membership
