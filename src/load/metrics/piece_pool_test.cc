#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <map>

#include "load/metrics/window.h"

namespace bellwether::metrics {
namespace {

TEST(PiecePool, a_piece_that_came_back_is_handed_out_again_zeroed_for_its_size_only) {
  PiecePool pool;
  void* small = pool.take(128);
  void* large = pool.take(512);
  std::memset(small, 0xff, 128);
  pool.give_back(small, 128);
  EXPECT_NE(pool.take(512), small);
  auto* again = static_cast<unsigned char*>(pool.take(128));
  EXPECT_EQ(again, small);
  EXPECT_TRUE(std::all_of(again, again + 128, [](unsigned char byte) { return byte == 0; }));
  EXPECT_NE(large, small);
}

TEST(PiecePool, pieces_never_overlap) {
  PiecePool pool;
  std::map<unsigned char*, std::size_t> all;
  for (std::size_t i = 0; i < 1'000; ++i) {
    const std::size_t bytes = i % 3 == 0 ? 512 : 128;
    all.emplace(static_cast<unsigned char*>(pool.take(bytes)), bytes);
  }
  unsigned char* end = nullptr;
  for (const auto& [piece, bytes] : all) {
    EXPECT_GE(piece, end);
    end = piece + bytes;
  }
  EXPECT_EQ(all.size(), 1'000u);
}

TEST(PiecePool, what_was_needed_once_needs_no_memory_again_and_topping_up_makes_room) {
  PiecePool pool;
  const auto use = [&pool] {
    std::vector<void*> pieces;
    for (int i = 0; i < 5'000; ++i) pieces.push_back(pool.take(128));
    for (void* piece : pieces) pool.give_back(piece, 128);
  };
  use();
  const std::size_t held = pool.slabs();
  use();
  EXPECT_EQ(pool.slabs(), held);
  pool.top_up();
  const std::size_t topped = pool.slabs();
  for (std::size_t bytes = 0; bytes + 512 <= PiecePool::kLowWater; bytes += 512) pool.take(512);
  EXPECT_EQ(pool.slabs(), topped);
}

TEST(PiecePool, a_little_takes_little) {
  PiecePool pool;
  EXPECT_EQ(pool.memory_bytes(), 0u);
  pool.take(128);
  EXPECT_LE(pool.memory_bytes(), 4'096u);
}

TEST(PiecePoolDeathTest, many_sizes_are_a_mistake) {
  PiecePool pool;
  EXPECT_DEATH(
      {
        for (std::size_t bytes = 16; bytes < 1'024; bytes += 16) pool.take(bytes);
      },
      "few sizes");
}

}  // namespace
}  // namespace bellwether::metrics
