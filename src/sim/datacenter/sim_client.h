// A simulated client: submits the jobs of the stage, follows each to its end, and cancels some. After a restart of its
// process it goes on with the jobs that it has not followed to their end.
#pragma once

#include <memory>
#include <string>

#include "core/base/prng.h"
#include "core/runtime/runtime.h"
#include "sim/datacenter/datacenter_stage.h"

namespace bellwether::sim {

// Scenarios for the jobs of a simulated datacenter: real ones, drawn at random.

// A job that is not submitted yet. `number` is below 2^16, and no other job of the world has it.
std::unique_ptr<JobStory> draw_job(Prng& prng, uint64_t number, int64_t most_vus);

// One that sends for half a minute at a steady rate, and is submitted at once.
std::unique_ptr<JobStory> draw_steady_job(Prng& prng, int64_t most_vus);

// For Node::start(); `context` is a DatacenterPlace.
runtime::task<void> run_client_process(runtime::Runtime& runtime, void* context);

}  // namespace bellwether::sim
