// What of a plan runs side by side on one machine, and on how many of its cores.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "load/plan/plan.h"
#include "load/plan/provision.h"

namespace bellwether::plan {

// Begins when the stage before it has ended.
struct Stage {
  std::vector<CoreGrant> grants;
  bool apart = false;  // each has its cores for itself, and there are enough of them; else all share the same ones
};

// Workflows follow their dependencies. Those that wait for nothing more run together on all cores, unless one of them
// has a priority. Then each gets separate cores, as on a cluster (core_batches), and a workflow without cores waits for
// those that have them. REQUIRES at least one core, and a plan whose workflows do not wait for each other.
std::vector<Stage> stages_of(const Plan& plan, uint32_t cores);

// The most of so many that make load at the same time. REQUIRES what stages_of() does.
uint32_t cores_used(const Plan& plan, uint32_t cores);

// How long the run takes by its plan, without what may finish: on so many cores of one machine; where they are not
// known, as long as the longest chain of workflows that wait for each other. Zero: it ends only when it is stopped, or
// has no workflows. REQUIRES what stages_of() does.
Duration planned_length(const Plan& plan, std::optional<uint32_t> cores);

// Whether it has a step that is measured.
bool is_test(const Plan& plan, uint16_t workflow);

}  // namespace bellwether::plan
