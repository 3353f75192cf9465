// The test server of the product, as a simulated process on port 80.
#pragma once

#include "core/runtime/runtime.h"

namespace bellwether::sim {

// `context`: a target::FaultOptions.
runtime::task<void> http_server(runtime::Runtime& runtime, void* context);

}  // namespace bellwether::sim
