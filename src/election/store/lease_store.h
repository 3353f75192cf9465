// What keeps leases: Redis, etcd, Kubernetes, PostgreSQL, a file, a lock of this host, memory. All rules are in the
// Elector (election/elector.h); a store only reads one key, and changes it if nobody else did meanwhile, each in one
// round trip where the server allows it.
//
// What every store promises:
//   - act() happens only when the key is still in the state `expected`; it says so, or gives an error, and after an
//   error
//     perhaps it happened and perhaps not;
//   - the epoch of a key survives the end of its leases, the release, and the restart of the store, and is kept apart
//     from whatever expires;
//   - what cannot be understood (torn, foreign, of a later version) is described in Observation::evidence, never
//   guessed.
//
// A store and what it opens belong to one runtime and its thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "election/lease_record.h"

namespace bellwether::store {

// One candidate's, or observer's, view of one key. Calls do not overlap.
class StoreKey {
 public:
  virtual ~StoreKey() = default;
  // `deadline` is of the monotonic clock; kTimeout when it passes.
  virtual runtime::task<Result<election::Observation>> look(Instant deadline, runtime::Cancellation* cancel) = 0;
  virtual runtime::task<Result<election::WriteOutcome>> act(election::WriteRequest request, Instant deadline,
                                                            runtime::Cancellation* cancel) = 0;
  // Returns true when the store says that the key may have changed since the last look or act; false when cancelled, or
  // at once when the store cannot tell (then it must be polled). May overlap with the calls above.
  virtual runtime::task<bool> changed(runtime::Cancellation* cancel) = 0;
  // Why the server refuses to tell of changes, for as long as it does; empty when it does not. The key is polled then.
  virtual std::string watch_refused() const { return {}; }
  // A descriptor for the work of the present term to keep open (SpawnOptions::keep_open): while any process has it, the
  // holder does not count as dead although its own process is gone. -1 where there is none. The key closes its own.
  virtual int claim_descriptor() const { return -1; }
};

struct ListedKey {
  std::string key;
  election::Observation seen;
};

class LeaseStore {
 public:
  virtual ~LeaseStore() = default;
  virtual const election::StoreTraits& traits() const = 0;
  // For messages and logs: the URL without credentials.
  virtual std::string describe() const = 0;
  // Fails when the store cannot have such a key. Any bytes are a key unless said otherwise. Does not talk to the store.
  // The store must outlive what it opens.
  virtual Result<std::unique_ptr<StoreKey>> open(std::string key) = 0;
  // The keys that begin with `prefix`, in order, at most `most` of them.
  virtual runtime::task<Result<std::vector<ListedKey>>> list(std::string prefix, std::size_t most, Instant deadline,
                                                             runtime::Cancellation* cancel) = 0;
  // For how long nobody has read or written this piece of data, which is kept beside the leases, as the server counts
  // it (Redis: in whole seconds). kNotFound when there is none of that name, kUnsupported where nobody counts.
  virtual runtime::task<Result<Duration>> idle_time(std::string /*data*/, Instant /*deadline*/,
                                                    runtime::Cancellation* /*cancel*/) {
    co_return fail(Errc::kUnsupported, "this store does not count how long data is idle");
  }
};

// From a URL to a store.

// How long a lease in this store is when nobody says: 15 s; of a host lock, where it only bounds how long a holder may
// be silent, 10 s or twice the refresh of its profile.
Duration usual_lease(std::string_view url);

// Fails when the URL is wrong, or when what it names cannot work (a lock directory on a network file system, a file of
// credentials that cannot be read). Does not talk to a server yet. `runtime` must outlive the store.
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_store(runtime::Runtime& runtime, std::string url);

}  // namespace bellwether::store
