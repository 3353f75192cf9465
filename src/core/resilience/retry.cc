#include "core/resilience/retry.h"

#include <algorithm>

#include "core/base/check.h"

namespace bellwether::resilience {

bool is_retryable(Errc error) {
  switch (error) {
    case Errc::kRefused:
    case Errc::kReset:
    case Errc::kClosed:
    case Errc::kTimeout:
    case Errc::kUnreachable:
    case Errc::kExhausted:
    case Errc::kDns:
    case Errc::kIo: return true;
    case Errc::kOk:
    case Errc::kInvalid:
    case Errc::kNotFound:
    case Errc::kExists:
    case Errc::kCancelled:
    case Errc::kTooLarge:
    case Errc::kProtocol:
    case Errc::kTls:
    case Errc::kNoSpace:
    case Errc::kUnsupported: return false;
  }
  return false;
}

Retry::Retry(RetryPolicy policy, Instant deadline, Prng prng)
    : policy_(policy), deadline_(deadline), prng_(prng), last_(policy.base) {
  check(policy.attempts > 0 && policy.base > Duration::zero() && policy.base <= policy.cap, "a policy makes sense");
}

std::optional<Instant> Retry::failed(Instant now, Errc error) { return failed(now, error, Duration::zero()); }

std::optional<Instant> Retry::failed(Instant now, Errc error, Duration at_least) {
  ++failures_;
  if (!is_retryable(error) || failures_ >= policy_.attempts) return std::nullopt;
  const Instant next = now + std::max(wait(), at_least);
  if (next >= deadline_) return std::nullopt;
  return next;
}

Duration Retry::wait() {
  Duration bound = policy_.base;
  for (unsigned i = 1; i < failures_ && bound < policy_.cap; ++i)
    bound = bound > policy_.cap / 2 ? policy_.cap : bound * 2;
  bound = std::min(bound, policy_.cap);
  switch (policy_.jitter) {
    case Jitter::kFull: return prng_.between(Duration::zero(), bound);
    case Jitter::kEqual: return bound / 2 + prng_.between(Duration::zero(), bound / 2);
    case Jitter::kDecorrelated:
      // Not beyond a third of the cap before it is tripled, so that no cap is too large.
      last_ =
          last_ > policy_.cap / 3 ? prng_.between(policy_.base, policy_.cap) : prng_.between(policy_.base, last_ * 3);
      return last_;
  }
  return bound;
}

}  // namespace bellwether::resilience
