// The rate that each source may send at before it costs anything: a token bucket for each address, and one for all
// together. The table has a fixed size. A source whose place is taken pushes out the one with the most tokens left,
// which had asked for the least; so neither many sources nor one busy one make it grow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/time.h"

namespace bellwether::wire {

// An address of 16 bytes, IPv4 in its mapped form. The second half of an IPv6 address does not count: the owner of one
// address has all 2^64 of them.
using SourceAddress = std::array<uint8_t, 16>;

struct RateLimits {
  double per_source = 2'000;  // a second
  double burst = 4'000;       // tokens of a full bucket
  double in_all = 50'000;     // a second
  double burst_in_all = 50'000;
  std::size_t sources = 4'096;  // places in the table
};

class RateLimiter {
 public:
  // `seed`: makes it unpredictable which sources share a place.
  RateLimiter(RateLimits limits, uint64_t seed);

  // Takes one token of the source and one of all. False: one was missing, and nothing was taken.
  bool allow(const SourceAddress& source, Instant now);
  // Gives them back: the data turned out to be authentic.
  void refund(const SourceAddress& source, Instant now);

 private:
  static constexpr std::size_t kWays = 4;
  struct Bucket {
    uint64_t prefix[2] = {0, 0};
    double tokens = 0;
    Instant filled;
    bool used = false;
    void fill(Instant now, double rate, double most);
  };
  Bucket& bucket_of(const SourceAddress& source, Instant now);

  RateLimits limits_;
  uint64_t seed_;
  std::vector<std::array<Bucket, kWays>> sets_;
  Bucket all_;
};

}  // namespace bellwether::wire
