#include <cstring>
#include <gtest/gtest.h>
#include <set>

#include "core/runtime/task.h"

namespace bellwether::runtime {
namespace {

TEST(FramePool, memory_that_was_released_is_given_out_again_for_its_size_class) {
  void* first = FramePool::allocate(100);
  FramePool::release(first, 100);
  void* same = FramePool::allocate(128);
  EXPECT_EQ(same, first);
  void* other = FramePool::allocate(128);
  EXPECT_NE(other, same);
  FramePool::release(other, 128);
  FramePool::release(same, 128);
}

TEST(FramePool, frames_in_use_never_overlap) {
  std::vector<std::pair<unsigned char*, std::size_t>> frames;
  for (std::size_t i = 0; i < 500; ++i) {
    const std::size_t size = 1 + (i * 37) % (FramePool::kLargest + 200);  // some are above the pool's limit
    auto* memory = static_cast<unsigned char*>(FramePool::allocate(size));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(memory) % __STDCPP_DEFAULT_NEW_ALIGNMENT__, 0u);
    std::memset(memory, static_cast<int>(i & 0xff), size);
    frames.emplace_back(memory, size);
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto [memory, size] = frames[i];
    for (std::size_t at = 0; at < size; ++at) ASSERT_EQ(memory[at], i & 0xff);
    FramePool::release(memory, size);
  }
}

TEST(FramePool, a_warm_pool_gives_out_only_what_it_has) {
  constexpr std::size_t kFrames = 100;
  const auto take_and_release = [] {
    std::set<void*> frames;
    for (std::size_t i = 0; i < kFrames; ++i) frames.insert(FramePool::allocate(1000));
    for (void* memory : frames) FramePool::release(memory, 1000);
    return frames;
  };
  take_and_release();
  const auto once = take_and_release();
  EXPECT_EQ(once.size(), kFrames);
  EXPECT_EQ(take_and_release(), once);
}

}  // namespace
}  // namespace bellwether::runtime
