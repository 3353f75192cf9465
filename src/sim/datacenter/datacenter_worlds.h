// A world of a whole datacenter: three to five managers, up to two hundred workers and a client, each the product's
// services, drivers, links and kernels on a simulated machine, and jobs of real scenarios. Only the load itself is a
// model (sim_assignments.h), so that every sample is known. Everything breaks as one seed says; then all is made whole,
// and these rules must hold (datacenter_checker.h):
//
//   - data that was measured and accepted is in the final totals of its job once, bit for bit, and what a part lacks
//     lies in a loss of the job record that names the worker of that part;
//   - every acknowledged job has ended, all who ask about it get the same answer, no core is taken and no process of an
//     assignment is left;
//   - no owner of a job ever has a part of it run twice, and the target gets no part from two workers at once; the job
//     record lists what the target did not get (sim_target.h).
//
// In some of the worlds only managers break, for a while that is shorter than a worker's patience. There, nothing is
// lost and every job completes.
#pragma once

#include <span>

#include "sim/harness/worlds.h"

namespace bellwether::sim {

// A world of up to forty workers, most of a handful; a world of up to two hundred, with jobs for all their cores; and
// one with a single fault, and one with two faults at once, while a single job runs: the lost load is bounded there.
std::span<const WorldRow> datacenter_worlds();

}  // namespace bellwether::sim
