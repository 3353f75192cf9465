#include "target/faults.h"

namespace bellwether::target {

Faults::Faults(const FaultOptions& options, Instant start)
    : options_(options),
      start_(start),
      any_(options.latency_high > Duration::zero() || options.stall_every > Duration::zero() ||
           options.error_rate > 0) {}

Instant Faults::answer_at(Instant arrival, Prng& prng) const {
  Instant when = arrival;
  if (options_.latency_high > Duration::zero()) when += prng.between(options_.latency_low, options_.latency_high);
  return after_stall(options_, start_, when);
}

Instant after_stall(const FaultOptions& options, Instant start, Instant when) {
  if (options.stall_every <= Duration::zero() || when < start) return when;
  const Duration into = Duration::nanos((when - start).ns() % options.stall_every.ns());
  const bool stalled = into >= options.stall_every - options.stall_for;
  return stalled ? when + (options.stall_every - into) : when;
}

}  // namespace bellwether::target
