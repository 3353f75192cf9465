#include "core/resilience/token_bucket.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::resilience {
namespace {

// Of a token: a rounding error does not count as missing.
constexpr double kRounding = 1e-6;

}  // namespace

TokenBucket::TokenBucket(double per_second, double burst) : per_second_(per_second), burst_(burst), tokens_(burst) {
  check(per_second > 0 && burst >= 1, "it lets something through");
}

void TokenBucket::fill(Instant now) {
  if (now <= filled_) return;
  tokens_ = std::min(burst_, tokens_ + (now - filled_).seconds_f() * per_second_);
  filled_ = now;
}

bool TokenBucket::take(Instant now) {
  fill(now);
  if (tokens_ < 1 - kRounding) return false;
  tokens_ -= 1;
  return true;
}

Instant TokenBucket::ready(Instant now) {
  fill(now);
  if (tokens_ >= 1 - kRounding) return now;
  return now + Duration::from_seconds_f((1 - tokens_) / per_second_);
}

}  // namespace bellwether::resilience
