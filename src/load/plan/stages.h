// The workflows of a plan that run side by side on one machine, and their cores.
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
  bool apart = false;  // each has separate cores, and they suffice; else all share the same ones
};

// Workflows follow their dependencies. Those that wait for nothing more run together on all cores, unless one of them
// has a priority. Then each gets separate cores, as on a cluster (core_batches), and a workflow without cores waits for
// those that have them. REQUIRES at least one core, and a plan whose workflows do not wait for each other.
std::vector<Stage> stages_of(const Plan& plan, uint32_t cores);

// The most of these cores that make load at the same time. REQUIRES the same as stages_of().
uint32_t cores_used(const Plan& plan, uint32_t cores);

// The length of the run by its plan, without a graceful stop: on these cores of one machine, or, if unknown, that of
// the longest chain of workflows that wait for each other. Zero: it ends only by a stop, or has no workflows. REQUIRES
// the same as stages_of().
Duration planned_length(const Plan& plan, std::optional<uint32_t> cores);

// Whether it has a step that is measured.
bool is_test(const Plan& plan, uint16_t workflow);

}  // namespace bellwether::plan
