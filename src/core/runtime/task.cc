#include "core/runtime/task.h"

#include <memory>
#include <vector>

namespace bellwether::runtime {
namespace {

// Owns the slabs of one thread; the free lists point into them.
struct Slabs {
  std::vector<std::unique_ptr<std::byte[]>> all;
};
thread_local Slabs slabs;

}  // namespace

constinit thread_local std::array<FramePool::Node*, FramePool::kLargest / FramePool::kStep + 1> FramePool::lists_{};

void* FramePool::refill(std::size_t size_class) {
#if defined(__SANITIZE_ADDRESS__) || (defined(__has_feature) && __has_feature(address_sanitizer))
  constexpr std::size_t kSlabFrames = 1;  // one frame a slab: a use after free is next to a red zone
#else
  constexpr std::size_t kSlabFrames = 32;
#endif
  const std::size_t size = size_class * kStep;
  check(size <= kLargest, "larger frames are not pooled");
  slabs.all.push_back(std::make_unique_for_overwrite<std::byte[]>(size * kSlabFrames));
  std::byte* memory = slabs.all.back().get();
  for (std::size_t i = 1; i < kSlabFrames; ++i) release(memory + i * size, size);
  return memory;
}

constinit thread_local RunQueue* RunQueue::local_ = nullptr;

RunQueue& RunQueue::make_local() {
  static thread_local RunQueue queue;
  local_ = &queue;
  return queue;
}

}  // namespace bellwether::runtime
