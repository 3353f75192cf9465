// One connection of a client to the target: requests are read from it one after another, and answered.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/prng.h"
#include "core/runtime/runtime.h"
#include "target/faults.h"
#include "target/routes.h"

namespace bellwether::target {

// What all connections of one thread share.
struct Service {
  Service(runtime::Runtime& r, const FaultOptions& options, uint64_t seed)
      : runtime(r), faults(options, r.now()), prng(seed) {}

  runtime::Runtime& runtime;
  Faults faults;
  Prng prng;
  uint64_t connections = 0;
  uint64_t requests = 0;
  http1::RequestHead head;  // the one being answered: good until the next wait
};

// Serves until the client closes, breaks the protocol, or `cancel` is cancelled.
runtime::task<void> serve(Service* service, std::unique_ptr<runtime::Stream> stream, runtime::Cancellation* cancel);

}  // namespace bellwether::target
