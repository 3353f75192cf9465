// Memory for coroutine frames: free lists by size, one set for each thread. After warm-up a call of a coroutine costs
// about a nanosecond and no call of the allocator. A frame must be freed on the thread that made it.
#pragma once

#include <array>
#include <cstddef>

namespace bellwether::runtime {

class FramePool {
 public:
  static constexpr std::size_t kStep = 64;       // size classes: multiples of this
  static constexpr std::size_t kLargest = 4096;  // larger frames come from the heap

  static void* allocate(std::size_t size) {
    if (size > kLargest) [[unlikely]]
      return ::operator new(size);
    Node*& head = lists_[(size + kStep - 1) / kStep];
    if (head == nullptr) [[unlikely]]
      return refill((size + kStep - 1) / kStep);
    Node* node = head;
    head = node->next;
    return node;
  }
  static void release(void* memory, std::size_t size) noexcept {
    if (size > kLargest) [[unlikely]] {
      ::operator delete(memory);
      return;
    }
    Node*& head = lists_[(size + kStep - 1) / kStep];
    Node* node = static_cast<Node*>(memory);
    node->next = head;
    head = node;
  }

 private:
  struct Node {
    Node* next;
  };
  static void* refill(std::size_t size_class);
  static thread_local std::array<Node*, kLargest / kStep + 1> lists_;
};

}  // namespace bellwether::runtime
