// A simulated client: submits the jobs of the stage, follows each to its end, and cancels some. When its process is
// started again it goes on with what was not followed to its end.
#pragma once

#include "core/runtime/runtime.h"

namespace bellwether::sim {

// For Node::start(); `context` is a DatacenterPlace.
runtime::task<void> run_client_process(runtime::Runtime& runtime, void* context);

}  // namespace bellwether::sim
