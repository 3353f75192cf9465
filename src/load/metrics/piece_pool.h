// Memory for the histograms of one window, in pieces of a few sizes. A piece that is given back is handed out again for
// its size; memory goes back only with the pool. So what a window needed once it needs no allocation for again, and
// top_up(), called where time is cheap, makes room for what is new. Not thread-safe: who has the window has the pool.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace bellwether::metrics {

class PiecePool {
 public:
  // The next so many bytes come without an allocation after a top_up().
  static constexpr std::size_t kLowWater = 64 * 1024;

  PiecePool() = default;
  PiecePool(const PiecePool&) = delete;
  PiecePool& operator=(const PiecePool&) = delete;

  // Zeroed, aligned to 16 bytes. REQUIRES one of few sizes (kSizesMost), each a multiple of 16 and at most kLowWater.
  void* take(std::size_t bytes);
  // REQUIRES a piece of this pool and its size.
  void give_back(void* piece, std::size_t bytes);
  void top_up();

  // How often memory was asked for, and how much.
  std::size_t slabs() const { return slabs_.size(); }
  std::size_t memory_bytes() const { return slab_bytes_; }

 private:
  static constexpr std::size_t kSizesMost = 8;
  static constexpr std::size_t kFirstSlab = 4 * 1024;
  static constexpr std::size_t kLargestSlab = 256 * 1024;
  struct Free {
    Free* next;
  };
  struct Size {
    std::size_t bytes = 0;
    Free* free = nullptr;
  };
  Size& of_size(std::size_t bytes);
  void add_slab(std::size_t at_least);

  struct Release {
    void operator()(std::byte* slab) const;
  };
  std::vector<std::unique_ptr<std::byte, Release>> slabs_;
  std::size_t slab_bytes_ = 0;
  std::array<Size, kSizesMost> sizes_;
  std::byte* next_ = nullptr;  // of the newest slab, what was never handed out
  std::size_t left_ = 0;       // bytes from there on
};

}  // namespace bellwether::metrics
