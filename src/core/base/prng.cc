#include "core/base/prng.h"

namespace bellwether {

Prng::Prng(uint64_t seed) {
  for (uint64_t& word : s_) {  // splitmix64 never yields four zero words in a row
    seed += 0x9e3779b97f4a7c15ULL;
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
}

}  // namespace bellwether
