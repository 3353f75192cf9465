// A world of a whole datacenter: three to five managers, up to two hundred workers and a client, each the product's
// services, drivers, links and kernels on a simulated machine, and jobs of real scenarios. Only the load itself is a
// model (sim_shares.h), so that every sample is known. Everything breaks as one seed says; then all is made whole, and
// what must hold is (datacenter_checker.h):
//
//   - what was measured and taken is in the final totals of its job once, bit for bit, and what is missing is among the
//     losses that the job's sheet tells;
//   - every job that was acknowledged has ended, whoever asks is told the same of it, no core is taken and no process
//     of a share is left;
//   - no owner of a job ever has a part of it run twice.
//
// In some of the worlds only managers break, for a while that is shorter than a worker's patience. There, nothing is
// lost and every job completes.
#pragma once

#include <span>

#include "sim/harness/worlds.h"

namespace bellwether::sim {

// One of up to forty workers, most of them of a handful; and one of up to two hundred, with jobs for all their cores.
std::span<const WorldRow> datacenter_worlds();

}  // namespace bellwether::sim
