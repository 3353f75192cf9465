#include "load/aggregate/failures.h"

#include <algorithm>
#include <array>
#include <map>

namespace bellwether::aggregate {

std::vector<Failure> failures_of(const Totals& totals) {
  std::array<uint64_t, http1::kErrorKinds> errors{};
  std::map<uint16_t, uint64_t> statuses;
  uint64_t of_some_status = 0;
  for (const metrics::StepWindow& step : totals.sum().steps) {
    uint64_t answered = step.failed;
    for (std::size_t kind = 0; kind < errors.size(); ++kind) {
      errors[kind] += step.errors[kind];
      answered -= std::min(answered, step.errors[kind]);
    }
    uint64_t refusals = 0;
    for (const auto& [status, count] : step.status.entries()) refusals += status >= 400 ? count : 0;
    if (refusals != answered) {
      of_some_status += answered;
      continue;
    }
    for (const auto& [status, count] : step.status.entries()) {
      if (status >= 400) statuses[status] += count;
    }
  }
  std::vector<Failure> out;
  for (std::size_t kind = 0; kind < errors.size(); ++kind) {
    const std::string_view text = describe(static_cast<http1::ErrorKind>(kind));
    // Without its advice, which stands in parentheses.
    if (errors[kind] > 0) out.push_back({std::string(text.substr(0, text.find(" ("))), errors[kind]});
  }
  for (const auto& [status, count] : statuses) out.push_back({fmt::format("status {}", status), count});
  if (of_some_status > 0) out.push_back({"status 4xx or 5xx", of_some_status});
  std::stable_sort(out.begin(), out.end(), [](const Failure& a, const Failure& b) { return a.count > b.count; });
  return out;
}

}  // namespace bellwether::aggregate
