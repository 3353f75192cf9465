// What the report of a simulated job says of each part of a workflow, against what the part lacks: every missing moment
// of a part must lie in a loss that names the worker which had the part, and no loss stands for more parts than it
// says.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/time.h"

namespace bellwether::sim {

struct JobStory;

using Span = std::pair<Duration, Duration>;  // from, to; on a workflow's clock
using SpansOfParts = std::vector<std::vector<Span>>;

// How far two machines may disagree about the clock of a workflow: their clocks run apart, and an order to begin takes
// a while.
inline constexpr Duration kClocksApart = Duration::millis(500);

// The moments before `length` that are in none of the spans, which are sorted by their begin. `twice`: the sum of those
// that are in more than one.
std::vector<Span> missing_of(const std::vector<Span>& spans, Duration length, Duration* twice = nullptr);

// The first moment that a part lacks and that no loss of that part covers, in words; empty: there is none. Spans up to
// kClocksApart do not count, and a loss may begin and end by as much too late and too early.
std::string unreported(const JobStory& job, uint16_t workflow, const SpansOfParts& missing);

// The time of the run in which losses of the job lie.
Duration reported_lost(const JobStory& job);

}  // namespace bellwether::sim
