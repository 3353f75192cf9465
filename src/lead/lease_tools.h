// An operator's acts on leases: look, watch, ask the holder to hand over, take away. Each act is one compare-and-act on
// the observed state, names its author in the record, and never lowers an epoch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/journal/journal.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "election/lease_record.h"
#include "election/store/lease_store.h"

namespace bellwether::lead {

class LeaseTools {
 public:
  // `by`: the author, for the record and the logs. The store must outlive it. Each call talks to the store for at most
  // `timeout` at a time.
  LeaseTools(runtime::Runtime& runtime, store::LeaseStore& store, std::string by, Duration timeout)
      : runtime_(runtime), store_(store), by_(std::move(by)), timeout_(timeout) {}

  runtime::task<Result<std::vector<store::ListedKey>>> list(std::string prefix, std::size_t most) {
    return store_.list(std::move(prefix), most, deadline(), nullptr);
  }
  runtime::task<Result<election::Observation>> show(std::string key);

  // Asks the holder to stop its work and hand over to `heir`, or to any candidate when that is empty. kNotFound when
  // the key has no holder. Returns the record from before; wait_for_change() detects whether the holder obeyed. `only`:
  // the epoch of the intended holder; kInvalid when another one holds the key by now. kExists when the key changes
  // during each attempt.
  runtime::task<Result<election::LeaseRecord>> ask_to_hand_over(std::string key, std::string heir,
                                                                std::optional<election::Epoch> only = std::nullopt) {
    return amend(std::move(key), std::move(heir), false, only);
  }

  // Takes the key away at once, for `heir` or for any candidate. The old holder learns of it at its next renewal. Until
  // then both may act, and only a resource that checks the fencing token is safe. The epoch grows by one here, and by
  // one more with the next holder.
  runtime::task<Result<election::LeaseRecord>> steal(std::string key, std::string heir,
                                                     std::optional<election::Epoch> only = std::nullopt) {
    return amend(std::move(key), std::move(heir), true, only);
  }

  // For a key with lost or doubtful epochs: takes it, for a moment, under `floor` or one more than the highest known
  // epoch, whichever is higher, and gives it back. From then on it is free, and its epochs go on above that. kExists
  // when it has a holder: a holder without proof of death is watched for its lease. kUnsupported where the store itself
  // gives out epochs. Returns the epoch.
  runtime::task<Result<election::Epoch>> repair(std::string key, election::Epoch floor);

  // Looks until the key is not held under this epoch any more, and has another holder when `held` is wanted.
  runtime::task<Result<election::Observation>> wait_for_change(std::string key, election::Epoch epoch, bool held,
                                                               Duration at_most);

 private:
  Instant deadline() { return runtime_.read_clock() + timeout_; }
  runtime::task<Result<election::Observation>> look_at_vacant(store::StoreKey& key, std::string name);
  runtime::task<Result<election::LeaseRecord>> amend(std::string key, std::string heir, bool steal,
                                                     std::optional<election::Epoch> only);

  runtime::Runtime& runtime_;
  store::LeaseStore& store_;
  std::string by_;
  Duration timeout_;
};

struct WatchAllOptions {
  std::string prefix;  // only keys with this prefix
  Duration every = Duration::seconds(1);
  Duration timeout = Duration::seconds(5);
  std::size_t most = 1'000'000;
};

// Reports each change of holder, by one listing a round, a few hundred bytes a key. Until SIGINT or SIGTERM. It reports
// a failed listing once, and tries again.
runtime::task<void> watch_all(runtime::EpollRuntime& runtime, store::LeaseStore& store, WatchAllOptions options,
                              Journal& journal);

// The state of a key, in words and figures for people. Pure.

// From one time of the wall clock to another.
Duration between(WallTime from, WallTime to);

// The rest of the lease: by the store, or else by the wall clocks of this machine and of the holder, which is for
// people only. Negative when it is over.
Duration left_of(const election::Observation& seen, WallTime now);
// "1234 ms", "overdue", "-" when the key has no holder.
std::string left_text(const election::Observation& seen, WallTime now);
// "5m ago", by this machine's wall clock against the writer's; "-" when it is unknown.
std::string ago(WallTime then, WallTime now);
// "held", "free: released by ops", "holder is dead: …".
std::string status_of(const election::Observation& seen);

}  // namespace bellwether::lead
