// Computes how long a key is without a holder, from the configuration alone. Each number comes with its arithmetic, so
// that an operator can check a promise before anything runs.
//
// After a crash of the holder, candidates trust only their own clocks (ClaimRule in elector.h): they wait from the
// moment at which they saw the record change last. In the worst case the holder renews right after a candidate has
// looked, and dies:
//
//   poll + op            the candidate looks again, and sees the last renewal only now
//   + lease x (1 + drift)  it must see the record unchanged for this time (lease_timing.h)
//   + poll / 16          it comes back when the key may be free, a little apart from the others (elector.cc)
//   + 2 op               it looks once more, and takes
//
// `poll` is the longest wait between two looks (each is drawn from [1 - jitter, 1] of it). `op` is the 99th percentile
// of the time of one operation of the store. In the typical case the holder dies halfway between two renewals and the
// candidate looks halfway between two polls: this saves half a renewal interval and costs only half a poll. Without
// renewals the record is already at its oldest, and nothing is saved. A store that announces changes can only be
// faster; no promise depends on that.
//
// A candidate finds a released key at its next look: poll + 2 op.
//
// Where the store proves that the holder's process is gone (flock), the next look finds a crash too; only a process
// that hangs costs the lease. Where the store itself ends leases (etcd), the server counts whole seconds, at least two,
// and ends them up to a second late; the next in its queue learns of it at its next poll.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "election/lease_timing.h"

namespace bellwether::election {

// The contribution of the kind of store.
struct Mechanism {
  std::string_view name;
  bool proves_death = false;  // a holder whose process is gone is seen to be dead
  bool ends_leases = false;   // the server counts the lease, and frees the key
  bool is_local = false;      // an operation costs no network
};
// Of a URL's scheme ("redis", "etcds", …); an unknown one counts as a register that only keeps records.
Mechanism mechanism_of(std::string_view scheme);

struct BudgetInput {
  Mechanism mechanism;
  Duration poll;  // longest wait between two looks of a candidate
  Duration lease;
  Duration renew_every;                       // of a living holder; zero: never
  bool gives_back = true;                     // the holder releases the key at an orderly end
  Duration operation = Duration::millis(50);  // of the store, p99
  double drift = 0.01;
};

// A sum with its parts.
struct Sum {
  struct Part {
    std::string name;  // "poll", "TTL x 1.01"
    Duration span;
  };
  std::vector<Part> parts;
  Duration total;

  void add(std::string name, Duration span);
  std::string formula() const;     // "poll + store + TTL x 1.01"
  std::string arithmetic() const;  // "30s + 0.05s + 60.6s = 90.65s"
};

struct FailoverBudget {
  Sum crash_worst;
  Sum crash_typical;
  Sum release_worst;
  Sum release_typical;
  std::optional<Sum> hang_worst;  // where a hang costs more than a crash
};

FailoverBudget budget_of(const BudgetInput& input);

// Of a group that elects its leader itself.
struct GroupBudget {
  Sum crash_worst;
  Sum crash_typical;
  Sum transfer;
  Sum cut_off_stops;  // a leader that reaches no quorum has stopped its work
};

// The most that the n-th election within the window adds (lease_timing.h): first, second, later.
Duration backoff_worst(const BackoffSettings& backoff, std::size_t earlier_elections);

// The longest poll and TTL that keep a promise; nothing when no values do.
struct Suggestion {
  Duration poll;
  Duration lease;
  Duration renew_every;
};
// A promise: either the longest time without a holder, or the longest time between two ticks of a loop. The last tick
// before the crash may have come a whole poll earlier.
struct Promise {
  Duration longest;
  bool from_last_tick = false;
};
Duration worst_of(const BudgetInput& input, bool from_last_tick);
// `ratio`: the number of polls in a TTL, from 2 to 10.
std::optional<Suggestion> suggest(const BudgetInput& like, Promise promise, double ratio);

}  // namespace bellwether::election
