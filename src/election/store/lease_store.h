// The interface of all stores: Redis, etcd, Kubernetes, PostgreSQL, a file, a lock of this host, memory. All rules are
// in the Elector (election/elector.h). A store only reads one key, and changes it if no other candidate has done so
// meanwhile, each in one round trip where the server allows it.
//
// Every store guarantees:
//   - act() happens only if the key is still in the state `expected`; otherwise it says so. After an error it may have
//     happened;
//   - the epoch of a key survives the end of its leases, the release, and the restart of the store, and is kept apart
//     from all data that expires;
//   - unreadable data (torn, foreign, of a later version) is described in Observation::evidence, never guessed.
//
// A store and the keys that it opens belong to one runtime and its thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/runtime.h"
#include "election/lease_record.h"

namespace bellwether::store {

// One candidate's, or observer's, view of one key. Calls do not overlap.
class StoreKey {
 public:
  virtual ~StoreKey() = default;
  // Makes what a claim needs on this machine: the folder of a lock. A candidate calls it before it stands, and ends if
  // it fails; an observer does not call it. kTimeout when the disk does not answer within ten seconds.
  virtual runtime::task<Status> prepare() { co_return Status(); }
  // `deadline` is of the monotonic clock; kTimeout when it passes.
  virtual runtime::task<Result<election::Observation>> look(Instant deadline, runtime::Cancellation* cancel) = 0;
  virtual runtime::task<Result<election::WriteOutcome>> act(election::WriteRequest request, Instant deadline,
                                                            runtime::Cancellation* cancel) = 0;
  // Returns true when the key may have changed since the last look or act; false when cancelled, or at once if the
  // store cannot report changes (then the caller polls). May overlap with the calls above.
  virtual runtime::task<bool> changed(runtime::Cancellation* cancel) = 0;
  // The reason while the server refuses to report changes, and the caller polls; otherwise empty.
  virtual std::string watch_refused() const { return {}; }
  // A descriptor that the work of the present term keeps open (SpawnOptions::keep_open): while any process has it, the
  // holder does not count as dead, even without its own process. -1: none. The key closes its own descriptor.
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
  // Fails if the store cannot have such a key. Any bytes are a key unless a store documents otherwise. Does not contact
  // the server. The store must outlive its keys.
  virtual Result<std::unique_ptr<StoreKey>> open(std::string key) = 0;
  // The keys that begin with `prefix`, in order, at most `most` of them.
  virtual runtime::task<Result<std::vector<ListedKey>>> list(std::string prefix, std::size_t most, Instant deadline,
                                                             runtime::Cancellation* cancel) = 0;
  // The time since the last read or write of this piece of data, which is kept beside the leases, as the server counts
  // it (Redis: in whole seconds). kNotFound: no such name. kUnsupported: the server does not count.
  virtual runtime::task<Result<Duration>> idle_time(std::string /*data*/, Instant /*deadline*/,
                                                    runtime::Cancellation* /*cancel*/) {
    co_return fail(Errc::kUnsupported, "this store does not count how long data is idle");
  }
};

// From a URL to a store.

// The default lease in this store: 15 s. For a host lock, where it only limits a holder's silence, 10 s or twice the
// refresh of its profile.
Duration usual_lease(std::string_view url);

// Fails if the URL is wrong, or names something that cannot work (a lock directory on a network file system, an
// unreadable file of credentials). Does not contact the server yet. `runtime` must outlive the store.
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_store(runtime::Runtime& runtime, std::string url);

// Judges, from a server's data, whether the server may have lost confirmed writes: for stores whose server can lose
// them.
//
// Each record, and a marker of the store, names the life of the server in which it was written (a restart or the
// promotion of a replica begins another one). A lost write may have followed a record of an earlier life. The marker
// also names the start of lease keeping in the present life, in milliseconds. All epochs of new keys begin above it, so
// that a total loss repeats none.

struct ServerLife {
  std::string now_in;     // the life that the server is in
  uint64_t now_ms = 0;    // its clock
  std::string marked_in;  // the life that the marker names
  uint64_t born_ms = 0;   // of the marker; 0: none
};

// How long the marker of a life is too young to prove that a missing record never was: longer than any lease.
inline constexpr Duration kDoubtFor = Duration::minutes(15);

// `seen` has no record: adds the meaning of that. If no candidate can have held the key, it shows the key as free since
// the store began to keep leases.
void judge_absence(const ServerLife& life, const std::string& server_name, election::Observation& seen);
// `seen` has a record that was written in `written_in`.
void judge_record(const ServerLife& life, const std::string& written_in, const std::string& server_name,
                  election::Observation& seen);

}  // namespace bellwether::store
