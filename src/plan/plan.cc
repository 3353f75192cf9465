#include "plan/plan.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/units.h"

namespace bellwether::plan {
namespace {

// Rounded to the nearest nanosecond, so that a rate that divides a second gives whole intervals. The 64 bits of a long
// double keep the error below a nanosecond for a year at ten million a second.
int64_t due_ns(uint64_t number, double rate_per_s) {
  return static_cast<int64_t>(
      std::llround(static_cast<long double>(number) * 1e9L / static_cast<long double>(rate_per_s)));
}

// How many arrivals of the whole run are due before `duration`.
uint64_t arrivals_before(Duration duration, double rate_per_s) {
  const long double expected = static_cast<long double>(duration.ns()) * static_cast<long double>(rate_per_s) / 1e9L;
  auto count = static_cast<uint64_t>(std::ceil(expected));
  while (count > 0 && due_ns(count - 1, rate_per_s) >= duration.ns()) --count;
  while (due_ns(count, rate_per_s) < duration.ns()) ++count;
  return count;
}

// How many of the first `total` arrivals belong to a part.
uint64_t arrivals_of(uint64_t total, uint32_t part, uint32_t parts) {
  return total > part ? (total - part - 1) / parts + 1 : 0;
}

}  // namespace

std::string timeout_text(Duration timeout) { return "its timeout of " + format_duration(timeout) + " is over"; }

Share share_of(uint32_t total, uint32_t part, uint32_t parts) {
  check(part < parts, "a part is one of its parts");
  const uint32_t each = total / parts;
  const uint32_t larger = total % parts;  // the last `larger` parts take one more
  const uint32_t smaller = parts - larger;
  const uint32_t larger_before = part > smaller ? part - smaller : 0;
  return {.first = part * each + larger_before, .count = each + (part >= smaller ? 1 : 0)};
}

ArrivalSchedule::ArrivalSchedule(double rate_per_s, Duration duration, uint32_t part, uint32_t parts)
    : rate_per_s_(rate_per_s), part_(part), parts_(parts) {
  check(rate_per_s > 0 && std::isfinite(rate_per_s), "the rate was validated");
  check(part < parts, "a part is one of its parts");
  count_ = arrivals_of(arrivals_before(duration, rate_per_s), part, parts);
}

Duration ArrivalSchedule::due(uint64_t index) const {
  check(index < count_, "there are only count() arrivals");
  return Duration::nanos(due_ns(index * parts_ + part_, rate_per_s_));
}

uint64_t ArrivalSchedule::due_before(Duration offset) const {
  if (offset <= Duration::zero()) return 0;
  return std::min(count_, arrivals_of(arrivals_before(offset, rate_per_s_), part_, parts_));
}

}  // namespace bellwether::plan
