#include "metrics/status_counts.h"

#include <algorithm>

#include "base/check.h"

namespace bellwether::metrics {

uint64_t StatusCounts::of(uint16_t status) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.status == status; });
  return found == entries_.end() ? 0 : found->count;
}

void StatusCounts::insert(uint16_t status, uint64_t times) {
  check(status < kStatusMax, "a status that exists");
  if (times == 0) return;
  const auto after = [&](const Entry& e) { return e.status > status; };
  entries_.insert(std::find_if(entries_.begin(), entries_.end(), after), {status, times});
}

}  // namespace bellwether::metrics
