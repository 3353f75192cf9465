// A world of a whole datacenter: three to five managers, up to two hundred workers and a client, each the product's
// services, drivers, links and kernels on a simulated machine, and jobs of real scenarios. Only the load itself is a
// model (sim_shares.h), so that every sample is known. Everything breaks as one seed says; then all is made whole, and
// what must hold is (datacenter_checker.h):
//
//   - what was measured and taken is in the final totals of its job once, bit for bit, and what is missing is among the
//     losses that the job's sheet tells;
//   - every job that was acknowledged has ended, whoever asks is told the same of it, no core is taken and no process
//   of
//     a share is left;
//   - no owner of a job ever has a part of it run twice.
//
// In some of the worlds only managers break, for a while that is shorter than a worker's patience. There, nothing is
// lost and every job completes.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "sim/datacenter/datacenter_mistake.h"

namespace bellwether::sim {

enum class DatacenterSize : uint8_t {
  kAny,    // of up to forty workers, most of them of a handful
  kLarge,  // of up to two hundred, with jobs for all their cores
};

struct DatacenterRun {
  std::string violation;  // empty: everything held
  uint64_t fingerprint = 0;
  uint32_t managers = 0;
  uint32_t workers = 0;
  uint32_t jobs = 0;
  uint32_t starts = 0;   // of processes
  uint32_t owners = 0;   // of jobs: how often one was founded or taken over
  uint64_t seconds = 0;  // that shares have told and that count
  uint64_t lost = 0;     // that they have told and that do not count
  Duration lived;        // how much time passed in the world
  Duration settled;      // from when all was whole until all was at rest
  std::string trace;     // when asked for: what happened, a line each
};

DatacenterRun live_datacenter(uint64_t seed, DatacenterMistake mistake = DatacenterMistake::kNone, bool trace = false,
                              DatacenterSize size = DatacenterSize::kAny);

}  // namespace bellwether::sim
