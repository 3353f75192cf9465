// Points in time for tests of what is given the time.
#pragma once

#include "core/base/time.h"

namespace bellwether {

constexpr Instant at_ms(int64_t ms) { return Instant() + Duration::millis(ms); }
constexpr Instant at_seconds(double seconds) { return Instant() + Duration::from_seconds_f(seconds); }

}  // namespace bellwether
