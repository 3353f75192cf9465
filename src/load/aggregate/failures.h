// The causes of failed requests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "load/aggregate/totals.h"

namespace bellwether::aggregate {

struct Failure {
  std::string cause;  // "connection refused", "status 503"
  uint64_t count = 0;
  bool operator==(const Failure&) const = default;
};

// Of the whole run, the most frequent first: errors by kind, and failed responses by status. Where a check of the step
// allows some of its statuses from 400 on, the counts do not say which ones failed: they are "status 4xx or 5xx".
std::vector<Failure> failures_of(const Totals& totals);

}  // namespace bellwether::aggregate
