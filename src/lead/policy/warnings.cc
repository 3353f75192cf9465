#include "lead/policy/warnings.h"

#include <algorithm>

#include "base/units.h"
#include "election/lease_timing.h"
#include "store/store_url.h"

namespace bellwether::lead {
namespace {

using election::LeaseTiming;

// A tick must fit into the lease together with what the network may add and one retry of the store.
void warn_of_long_ticks(const LoopPolicy& loop, yaml::Diagnostics& out) {
  if (loop.longest_tick == Duration::zero()) return;
  const LeaseTiming timing = LeaseTiming::of(loop.lock_ttl);
  const Duration jitter = Duration::from_seconds_f(loop.poll_interval.seconds_f() * timing.jitter);
  const Duration retry = timing.retry + timing.store_timeout;
  const Duration needed = loop.longest_tick + jitter + retry;
  if (loop.lock_ttl >= needed) return;
  out.add(
      loop.place,
      {.message = "loop " + yaml::in_quotes(loop.name) + ": 'lock_ttl' " + format_duration(loop.lock_ttl) +
                  " is shorter than the longest tick " + format_duration(loop.longest_tick) + " + jitter " +
                  format_duration(jitter) + " + one retry " + format_duration(retry) + " = " + format_duration(needed),
       .hint = loop.renew_every > Duration::zero()
                   ? "only the renewals keep the key over a long tick; a store that is away for a moment ends it"
                   : "the lock lapses during the tick, which is then stopped: lengthen 'lock_ttl' or set "
                     "'renew_every'"});
}

void warn_of_times(const LoopPolicy& loop, yaml::Diagnostics& out) {
  const std::string name = "loop " + yaml::in_quotes(loop.name) + ": ";
  if (loop.renew_every > Duration::zero() && loop.lock_ttl < loop.renew_every * 3) {
    out.add(loop.place,
            {.message = name + "safety margin (lock_ttl / renew_every) is " + format_duration(loop.lock_ttl) + " / " +
                        format_duration(loop.renew_every) + " < 3: two lost renewals end the term",
             .hint = "renew_every: " + format_duration(loop.lock_ttl / 3)});
  }
  if (loop.release_mode == ReleaseMode::kTtlHold && loop.lock_ttl == loop.poll_interval) {
    out.add(loop.place, {.message = name + "'lock_ttl' and 'poll_interval' are both " + format_duration(loop.lock_ttl) +
                                    ": any delay of a poll changes the holder",
                         .hint = "lock_ttl: " + format_duration(loop.poll_interval * 2)});
  }
  const auto url = store::parse_store_url(loop.store);
  if (url && url->scheme.starts_with("etcd") && loop.lock_ttl.ns() % 1'000'000'000 != 0) {
    out.add(loop.place, {.message = name + "etcd counts leases in whole seconds: 'lock_ttl' " +
                                    format_duration(loop.lock_ttl) + " becomes longer",
                         .hint = "say so in the sheet: whole seconds"});
  }
}

void warn_of_one_failure_domain(const Policy& policy, yaml::Diagnostics& out) {
  const std::vector<LoopPolicy>& loops = policy.loops;
  if (loops.size() < 2) return;
  const bool one = std::all_of(loops.begin(), loops.end(),
                               [&](const LoopPolicy& loop) { return loop.store == loops.front().store; });
  if (!one) return;
  out.add({}, {.message = "all " + format_count(loops.size(), "loop") +
                          " stand on one store: when it is away, none of " + "them has a holder (one failure domain)",
               .hint = "give the loops that must not stop together stores of their own ('store:' in the loop)"});
}

}  // namespace

std::vector<yaml::Diagnostic> warn_about(const Policy& policy) {
  yaml::Diagnostics out(policy.file);
  warn_of_one_failure_domain(policy, out);
  for (const LoopPolicy& loop : policy.loops) {
    warn_of_long_ticks(loop, out);
    warn_of_times(loop, out);
  }
  return out.take();
}

}  // namespace bellwether::lead
