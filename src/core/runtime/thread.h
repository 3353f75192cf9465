// Threads of the product: their first steps, and how a thread hands work to the loop of another.
#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>

#include "core/runtime/runtime.h"

namespace bellwether::runtime {

// Names the calling thread for `top` and debuggers (15 characters are kept). With a processor that it may use, pins it
// there.
void set_up_thread(const std::string& name, std::optional<int> cpu);

// Signals belong to the thread of the runtime. A thread that begins in the life of this object gets none, except those
// of its faults, so that the process may still say its last words.
class NoSignals {
 public:
  NoSignals();
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals();

 private:
  sigset_t before_;
};

// Runtime::post() for threads that cannot go on without it.

// Not from the thread of `runtime`. Waits while its mailbox is full: then its loop stands still, which is rare. No
// event reports that the loop goes on, so this tries again. False when `give_up()` first.
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
