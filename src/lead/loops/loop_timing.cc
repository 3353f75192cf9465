#include "lead/loops/loop_timing.h"

#include <algorithm>

#include "core/base/units.h"

namespace bellwether::lead {

using election::LeaseTiming;

namespace {

// A lock that is never renewed during a tick gives the tick as much of its time as is safe.
void never_renew(LeaseTiming& timing) {
  const Duration usable = timing.renew_deadline + timing.stop_grace;
  timing.stop_grace = std::min(timing.stop_grace, timing.lease / 10);
  timing.renew_deadline = usable - timing.stop_grace;
}

void renew(LeaseTiming& timing, const LoopPolicy& loop, std::vector<std::string>& warnings) {
  const Duration usable = timing.renew_deadline + timing.stop_grace;
  timing.renew_every = loop.renew_every;
  // One failed renewal may be repeated before the term ends, where the lease has room for that.
  const Duration wanted = timing.renew_every + timing.store_timeout * 2 + timing.retry;
  timing.renew_deadline = std::clamp(wanted, timing.renew_deadline, usable - timing.lease / 20);
  timing.stop_grace = usable - timing.renew_deadline;
  const Duration longest = timing.renew_deadline - timing.store_timeout;
  if (timing.renew_every <= longest) return;
  warnings.push_back("loop " + loop.name + " renews every " + format_duration(longest) + ", not every " +
                     format_duration(loop.renew_every) + ": a lease of " + format_duration(loop.lock_ttl) +
                     " leaves no time for the answer");
  timing.renew_every = longest;
}

}  // namespace

Result<LoopTiming> timing_of(const LoopPolicy& loop, Duration lease_min) {
  if (loop.lock_ttl < lease_min) {
    return fail(Errc::kInvalid, "loop " + loop.name + ": 'lock_ttl' " + format_duration(loop.lock_ttl) +
                                    " is too short for its store, which needs at least " + format_duration(lease_min));
  }
  LoopTiming out;
  LeaseTiming timing = LeaseTiming::of(loop.lock_ttl);
  out.renews_in_ticks = loop.renew_every > Duration::zero();
  if (out.renews_in_ticks) {
    renew(timing, loop, out.warnings);
  } else {
    never_renew(timing);
    timing.renew_every = timing.renew_deadline / 2;
  }
  if (const auto safe = timing.validate(); !safe) {
    return fail(Errc::kInvalid, "loop " + loop.name + ": " + safe.error().message);
  }
  // A renewal that fails between two ticks can still be repeated.
  out.extend_within = std::min(loop.poll_interval, timing.renew_deadline / 2);
  if (!out.renews_in_ticks) timing.renew_every = loop.lock_ttl * 2;  // beyond every term: never
  out.leading = timing;
  out.standing = timing;
  out.standing.retry = loop.poll_interval;
  return out;
}

}  // namespace bellwether::lead
