// What the target of a simulated job gets, whether anybody reports it or not, and the rules about it (ST-10): no part
// is run by two assignments at once, no arrival comes twice, no more iterations begin than planned, and the report of
// the job records what did not come. An arrival is a moment at which a part was due to send; the moments between two of
// them are as good as any.
#pragma once

#include <cstdint>
#include <string>
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

}  // namespace bellwether::sim
