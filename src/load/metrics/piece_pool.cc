#include "load/metrics/piece_pool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/base/check.h"

namespace bellwether::metrics {

void PiecePool::Release::operator()(std::byte* slab) const { std::free(slab); }

PiecePool::Size& PiecePool::of_size(std::size_t bytes) {
  std::size_t i = 0;
  while (i < sizes_.size() && sizes_[i].bytes != bytes && sizes_[i].bytes != 0) ++i;
  check(i < sizes_.size(), "pieces have few sizes");
  sizes_[i].bytes = bytes;
  return sizes_[i];
}

// What the kernel gives costs nothing until it is used.
void PiecePool::add_slab(std::size_t at_least) {
  const std::size_t bytes = std::max(at_least, std::clamp(slab_bytes_, kFirstSlab, kLargestSlab));
  auto* slab = static_cast<std::byte*>(std::malloc(bytes));
  check(slab != nullptr, "memory for histograms");
  slabs_.emplace_back(slab);
  slab_bytes_ += bytes;
  next_ = slab;
  left_ = bytes;
}

void* PiecePool::take(std::size_t bytes) {
  Size& size = of_size(bytes);
  void* piece = size.free;
  if (size.free != nullptr) {
    size.free = size.free->next;
  } else {
    if (left_ < bytes) add_slab(bytes);
    piece = next_;
    next_ += bytes;
    left_ -= bytes;
  }
  return std::memset(piece, 0, bytes);
}

void PiecePool::give_back(void* piece, std::size_t bytes) {
  Size& size = of_size(bytes);
  size.free = new (piece) Free{size.free};
}

void PiecePool::top_up() {
  if (left_ < kLowWater) add_slab(kLowWater);
}

}  // namespace bellwether::metrics
