// When to try again, and when to stop: one rule for every call over a network. Each call has a separate value; it reads
// no clock and makes no call.
//
// The three kinds of jitter are those of M. Brooker, "Exponential Backoff and Jitter" (AWS Architecture Blog, 2015).
#pragma once

#include <optional>

#include "core/base/prng.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::resilience {

enum class Jitter : unsigned char {
  kFull,          // uniform in [0, b], with b = min(cap, base · 2^n): the widest spread
  kEqual,         // b/2 and uniform in [0, b/2]: never less than half
  kDecorrelated,  // uniform in [base, 3 · the last wait], at most cap
};

struct RetryPolicy {
  unsigned attempts = 3;  // in all, the first one included
  Duration base = Duration::millis(500);
  Duration cap = Duration::seconds(30);
  Jitter jitter = Jitter::kFull;
};

// The end of a call, for the rule. A refusal is an answer: the peer is well and has decided, so the caller does not try
// again and no breaker counts it. BUSY is an answer too: the work was accepted and waits.
enum class Outcome : unsigned char { kAnswered, kBusy, kRefused, kFailed };

// Whether another try may help: connections that were refused, reset, closed or unreachable, timeouts, names that did
// not resolve, exhausted resources. Not after invalid, too large, unsupported or unauthenticated calls, nor after a
// cancellation.
bool is_retryable(Errc error);

class Retry {
 public:
  // REQUIRES at least one attempt and 0 < base <= cap. No attempt begins at `deadline` or later.
  Retry(RetryPolicy policy, Instant deadline, Prng prng);

  // An attempt failed at `now`. When the next one may begin; nothing when this was the last one: the error cannot be
  // helped, the attempts are used up, or the deadline would have passed.
  std::optional<Instant> failed(Instant now, Errc error);
  // The same, when the peer has said how long to wait at least ("retry after").
  std::optional<Instant> failed(Instant now, Errc error, Duration at_least);

  unsigned attempts() const { return failures_; }  // that have failed

 private:
  Duration wait();
  RetryPolicy policy_;
  Instant deadline_;
  Prng prng_;
  unsigned failures_ = 0;
  Duration last_;
};

}  // namespace bellwether::resilience
