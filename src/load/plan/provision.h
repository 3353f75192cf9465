// How many cores each workflow of a layer gets out of a pool, on one machine or over all workers.
//
//   priority    of the whole pool, rounded up
//   low         1 core to 25 %
//   normal      25 % to 75 %
//   high        75 % to all
//   exclusive   all
//   auto        1 core to all
//
// Ranges are shares of all cores there are, not of those that are free at the moment: what a scenario gets does not
// depend on what else runs. A workflow without a test step gets one core, and a core that would have no virtual user to
// run is not given.
#pragma once

#include <cstdint>
#include <vector>

#include "load/scenario/model.h"

namespace bellwether::plan {

using scenario::Priority;

struct CoreRange {
  uint32_t least = 1;
  uint32_t most = 1;
  bool operator==(const CoreRange&) const = default;
};
// REQUIRES a pool of at least one core.
CoreRange core_range(Priority priority, uint32_t pool);

struct CoreDemand {
  uint16_t workflow = 0;  // the caller's number
  Priority priority = Priority::kAuto;
  bool is_test = true;
  uint32_t vus = 1;  // the most at a time
};
struct CoreGrant {
  uint16_t workflow = 0;
  uint32_t cores = 1;
  bool operator==(const CoreGrant&) const = default;
};

// The batches of one layer, one after the other; those of one batch run side by side and fit into the pool. Workflows
// without a test step come first, in separate batches. The others are placed by priority, the highest first, and in the
// order in which they were given; each batch takes as many as find at least their least. Each remaining core goes to
// the workflow with the fewest cores that may have more, the higher priority first. REQUIRES a pool of at least one
// core.
std::vector<std::vector<CoreGrant>> core_batches(const std::vector<CoreDemand>& demands, uint32_t pool);

}  // namespace bellwether::plan
