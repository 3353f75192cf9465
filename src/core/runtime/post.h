// Runtime::post() for threads that cannot go on without it.
#pragma once

#include <chrono>
#include <thread>

#include "core/runtime/runtime.h"

namespace bellwether::runtime {

// Not from the thread of `runtime`. Waits while its mailbox is full: that means that its loop stands still, which is
// rare, and nothing tells when it goes on, so it is tried again. False when `give_up()` first.
template <class GiveUp>
bool post_patiently(Runtime& runtime, void (*call)(void* context), void* context, GiveUp give_up) {
  while (!runtime.post(call, context)) {
    if (give_up()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}
inline void post_patiently(Runtime& runtime, void (*call)(void* context), void* context) {
  post_patiently(runtime, call, context, [] { return false; });
}

}  // namespace bellwether::runtime
