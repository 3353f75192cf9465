// Scenarios for the jobs of a simulated datacenter: real ones, drawn at random.
#pragma once

#include <memory>
#include <string>

#include "core/base/prng.h"
#include "sim/datacenter/datacenter_stage.h"

namespace bellwether::sim {

// A job that is not submitted yet. `number` is below 2^16, and no other job of the world has it.
std::unique_ptr<JobStory> draw_job(Prng& prng, uint64_t number, int64_t most_vus);

}  // namespace bellwether::sim
