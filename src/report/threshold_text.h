// The value of a threshold as people read it.
#pragma once

#include <string>

#include "plan/plan.h"

namespace bellwether::report {

// In the unit that its metric has for people: "4.50ms", "0.02%", "1,234.5/s", "17". `value` as aggregate gives it:
// durations in ms, rates 0..1.
std::string threshold_value(const plan::Threshold& threshold, double value);

}  // namespace bellwether::report
