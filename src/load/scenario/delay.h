// How long a pause is: think time, pacing. Drawn anew for each pause (load/plan/delay.h).
#pragma once

#include "core/base/time.h"

namespace bellwether::scenario {

struct Delay {
  enum class Law : unsigned char { kUniform, kNormal, kExponential, kLognormal };
  Law law = Law::kUniform;
  // What is drawn lower or higher counts as these. REQUIRES 0 <= low <= high.
  Duration low;
  Duration high;
  Duration centre;    // kNormal, kExponential: the mean; kLognormal: the median; kUniform: unused
  double spread = 0;  // kNormal: the standard deviation in seconds; kLognormal: that of the natural logarithm

  // Always the same.
  static Delay of(Duration span) {
    Delay out;
    out.low = out.high = span;
    return out;
  }
  bool operator==(const Delay&) const = default;
};

}  // namespace bellwether::scenario
