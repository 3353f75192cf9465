// What the target of a simulated job gets, whether anybody reports it or not, and the rules about it (ST-10): no part
// is run by two assignments at once, no arrival comes twice, no more iterations begin than planned, and the report of
// the job records what did not come. An arrival is a moment at which a part was due to send; the moments between two of
// them are as good as any.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/time.h"

namespace bellwether::sim {

struct JobStory;

// What one assignment has sent for all its parts without a pause.
struct Sent {
  Instant from;  // by the time of the world
  Instant to;    // after `from`
  Duration due_from;
  Duration due_to;  // on the workflow's clock, as its machine counts it
};

// Continues the last one if nothing is between them.
void send(std::vector<Sent>& all, const Sent& one);

// The first broken rule; empty: all hold. excess_of() judges a job at any time, shortfall_of() one that has ended.
// `with_arrivals`: no arrival comes twice either. An owner that finds no worker which knows the run takes its clock
// from the wall clock, so this holds after a single fault only.
std::string excess_of(const JobStory& job, bool with_arrivals);
std::string shortfall_of(const JobStory& job);
// The planned time that the target did not get of a part, of the part that lacks most.
Duration most_missing(const JobStory& job);

// What the report of a job says of each part of a workflow, against what the part lacks: every missing moment of a part
// must lie in a loss that names the worker which had the part, and no loss stands for more parts than it says.

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
