// Waiting for one of several things: an event, a time, or being cancelled.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "runtime/event.h"
#include "runtime/runtime.h"

namespace bellwether::store {

// kOk once the event is set, kTimeout or kCancelled when that comes first. `deadline` is of the monotonic clock. The
// event must outlive the wait, and nobody else may wait for it meanwhile.
runtime::task<Errc> wait_for(runtime::Runtime& runtime, runtime::Event& event, Instant deadline,
                             runtime::Cancellation* cancel);

}  // namespace bellwether::store
