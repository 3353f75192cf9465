// Cutting an input into pieces for fuzz targets: sizes drawn from one byte of the input, so that a crash repeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/prng.h"

namespace bellwether::http1 {

// Sizes of at least one that add up to `total`: single bytes for 0, else small and large ones in turn.
inline std::vector<std::size_t> piece_sizes(std::size_t total, uint8_t seed) {
  Prng prng(seed);
  std::vector<std::size_t> sizes;
  while (total > 0) {
    const std::size_t largest = prng.chance(0.7) ? 8 : 5000;
    std::size_t size = seed == 0 ? 1 : 1 + prng.below(largest);
    if (size > total) size = total;
    sizes.push_back(size);
    total -= size;
  }
  return sizes;
}

}  // namespace bellwether::http1
