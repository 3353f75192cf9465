// Threads of the product: their first steps, and what one hands to another: work for a loop, or pointers.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
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

// A queue of pointers between exactly two threads, without a lock.
template <class T, std::size_t kSize>
class Handover {
 public:
  // False when it is full.
  bool push(T* item) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == kSize) return false;
    items_[tail % kSize] = item;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }
  // nullptr when it is empty.
  T* pop() {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return nullptr;
    T* item = items_[head % kSize];
    head_.store(head + 1, std::memory_order_release);
    return item;
  }

 private:
  std::array<T*, kSize> items_{};
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
};

}  // namespace bellwether::runtime
