// A queue of pointers between exactly two threads, without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace bellwether {

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

}  // namespace bellwether
