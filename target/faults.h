// How the target misbehaves on purpose: latency, stalls and errors. Pure: time and chance are handed in.
#pragma once

#include "core/base/prng.h"
#include "core/base/time.h"

namespace bellwether::target {

struct FaultOptions {
  Duration latency_low;   // each answer waits for a time drawn evenly from latency_low..latency_high
  Duration latency_high;  // at least latency_low
  Duration stall_every;   // 0: no stalls
  Duration stall_for;     // the last part of each period of stall_every in which nothing is answered
  double error_rate = 0;  // share of requests answered with 500
};

class Faults {
 public:
  // Periods of stalls count from `start`.
  Faults(const FaultOptions& options, Instant start);

  // False: every request is answered at once and well, and nothing below need be asked.
  bool any() const { return any_; }
  // When a request that came at `arrival` is to be answered.
  Instant answer_at(Instant arrival, Prng& prng) const;
  bool fails(Prng& prng) const { return options_.error_rate > 0 && prng.chance(options_.error_rate); }

 private:
  FaultOptions options_;
  Instant start_;
  bool any_;
};

// `when`, or the end of the stall it falls into.
Instant after_stall(const FaultOptions& options, Instant start, Instant when);

}  // namespace bellwether::target
