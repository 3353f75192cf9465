// The only source of randomness: a seeded generator, handed in, so one seed gives one run. xoshiro256++ 1.0
// (Blackman and Vigna, 2019), seeded by splitmix64. Not for secrets.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/check.h"
#include "core/base/time.h"

namespace bellwether {

class Prng {
 public:
  explicit Prng(uint64_t seed) {
    for (uint64_t& word : s_) {  // splitmix64 never yields four zero words in a row
      seed += 0x9e3779b97f4a7c15ULL;
      uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
      word = z ^ (z >> 31);
    }
  }

  uint64_t next() {
    const uint64_t result = rotl(s_[0] + s_[3], 23) + s_[0];
    const uint64_t t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = rotl(s_[3], 45);
    return result;
  }

  // Uniform in [0, bound). REQUIRES bound > 0.
  uint64_t below(uint64_t bound) {
    check(bound > 0);
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  // Uniform in [low, high], both included. REQUIRES low <= high.
  int64_t between(int64_t low, int64_t high) {
    check(low <= high);
    const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const uint64_t offset = span == UINT64_MAX ? next() : below(span + 1);
    return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
  }
  Duration between(Duration low, Duration high) { return Duration::nanos(between(low.ns(), high.ns())); }
  // Uniform in [0, 1), 53 bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return unit() < probability; }
  // An independent stream, for a part that must not disturb the draws of others.
  Prng fork() { return Prng(next()); }

 private:
  static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::array<uint64_t, 4> s_;
};

}  // namespace bellwether
