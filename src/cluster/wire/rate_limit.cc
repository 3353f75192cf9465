#include "cluster/wire/rate_limit.h"

#include <algorithm>
#include <bit>

#include "cluster/wire/big_endian.h"

namespace bellwether::wire {
namespace {

// The finaliser of splitmix64: every bit of the input reaches every bit of the output.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

struct Prefix {
  uint64_t high;
  uint64_t low;
};

Prefix prefix_of(const SourceAddress& source) {
  const auto bytes = std::as_bytes(std::span(source));
  const Prefix whole{load_be<uint64_t>(bytes.data()), load_be<uint64_t>(bytes.data() + 8)};
  const bool v4 = whole.high == 0 && (whole.low >> 32U) == 0xffff;
  return v4 ? whole : Prefix{whole.high, 0};
}

}  // namespace

void RateLimiter::Bucket::fill(Instant now, double rate, double most) {
  if (now <= filled) return;
  tokens = std::min(most, tokens + (now - filled).seconds_f() * rate);
  filled = now;
}

RateLimiter::RateLimiter(RateLimits limits, uint64_t seed)
    : limits_(limits), seed_(seed), sets_(std::bit_ceil(std::max<std::size_t>(limits.sources / kWays, 1))) {
  all_.tokens = limits_.burst_in_all;
}

RateLimiter::Bucket& RateLimiter::bucket_of(const SourceAddress& source, Instant now) {
  const Prefix prefix = prefix_of(source);
  auto& set = sets_[mix(mix(prefix.high ^ seed_) ^ prefix.low) & (sets_.size() - 1)];
  Bucket* fullest = &set[0];
  for (Bucket& bucket : set) {
    if (bucket.used && bucket.prefix[0] == prefix.high && bucket.prefix[1] == prefix.low) {
      bucket.fill(now, limits_.per_source, limits_.burst);
      return bucket;
    }
    if (!bucket.used) {
      fullest = &bucket;
    } else {
      bucket.fill(now, limits_.per_source, limits_.burst);
      if (fullest->used && bucket.tokens > fullest->tokens) fullest = &bucket;
    }
  }
  *fullest = Bucket{{prefix.high, prefix.low}, limits_.burst, now, true};
  return *fullest;
}

bool RateLimiter::allow(const SourceAddress& source, Instant now) {
  Bucket& bucket = bucket_of(source, now);
  if (!all_.used) all_.filled = now;
  all_.used = true;
  all_.fill(now, limits_.in_all, limits_.burst_in_all);
  if (bucket.tokens < 1 || all_.tokens < 1) return false;
  bucket.tokens -= 1;
  all_.tokens -= 1;
  return true;
}

void RateLimiter::refund(const SourceAddress& source, Instant now) {
  Bucket& bucket = bucket_of(source, now);
  bucket.tokens = std::min(limits_.burst, bucket.tokens + 1);
  all_.tokens = std::min(limits_.burst_in_all, all_.tokens + 1);
}

}  // namespace bellwether::wire
