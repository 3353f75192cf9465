// Puts the blobs of jobs on a majority of the replicas, and gets them back (cluster/register/large.h says why that is
// safe). For managers; this node may be a replica itself. When the set of replicas changes, what is under way begins
// again with the new one.
//
// It guarantees, through all crashes after which a majority of the voters comes back with its disks: after put() has
// succeeded, every later get(), on any node, gives that version or a newer one, until the job is dropped; after a get()
// under a fence, no put() under a lower one succeeds. One thread, that of its runtime.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cluster/register/blob_store.h"
#include "cluster/replication/lines.h"
#include "core/base/prng.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"

namespace bellwether::blobs {

struct BlobsSettings {
  std::size_t pieces_under_way = 4;                  // to one voter, for one value
  Duration ask_most = Duration::seconds(5);          // for one question; then it is asked again
  Duration look_most = Duration::seconds(1);         // for all answers, where no majority is needed
  Duration catch_up = Duration::seconds(30);         // voters that a majority went ahead of get it for this time
  std::size_t most_behind = std::size_t{128} << 20;  // bytes of all values that are still being caught up
};

struct Blob {
  Version version;
  std::string bytes;
};

class Blobs {
 public:
  // All must outlive it. `seed` must differ between nodes.
  Blobs(runtime::Runtime& runtime, registers::Lines& lines, BlobsSettings settings, uint64_t seed);
  Blobs(const Blobs&) = delete;
  Blobs& operator=(const Blobs&) = delete;

  // A majority has it, durable. A version is never used for two values, not even after a failure, and one key is put by
  // one call at a time. kRefused: a newer version is there, or its writer has been succeeded; kNotFound: the job was
  // dropped; kTooLarge; kInvalid; kTimeout or another error of the network, with each voter's error: then a later get()
  // may find it, or not. Deadlines are of the monotonic clock.
  runtime::task<Status> put(BlobKey key, Version version, std::string bytes, Instant deadline,
                            runtime::Cancellation* cancel);
  // The newest version; nothing when no version was ever put. With a fence: of the job's owner, before it puts
  // anything; kRefused when a newer owner exists. kNotFound: the job was dropped.
  runtime::task<Result<std::optional<Blob>>> get(BlobKey key, JobFence fence, Instant deadline,
                                                 runtime::Cancellation* cancel);
  // The newest version of those voters that answer, without a majority: perhaps not the newest. For people, when a
  // majority is gone; no base for a change.
  runtime::task<Result<std::optional<Blob>>> get_unconfirmed(BlobKey key, Instant deadline,
                                                             runtime::Cancellation* cancel);
  // All values of a job are gone from a majority, which takes none for it any more, at least for an hour; the others
  // follow. The caller has ensured that no node wants it any more.
  runtime::task<Status> drop(std::string job, Instant deadline, runtime::Cancellation* cancel);
  // Ends the work in the background; calls must have ended, or end by it. It asks nothing any more.
  runtime::task<void> close();

 private:
  struct Value;
  struct Round;
  struct Sending;
  using RoundPtr = std::shared_ptr<Round>;
  using ValuePtr = std::shared_ptr<const Value>;
  // One try to bring a voter up to date: its answer, or why none came. An answer that is final ends it.
  using Tried = Result<Answer>;

  runtime::task<ValuePtr> prepare(BlobKey key, Version version, std::string bytes, bool again);
  runtime::task<Status> settle(RoundPtr round, Instant deadline, runtime::Cancellation* cancel);
  runtime::task<Status> spread(ValuePtr value, RoundPtr round, Instant deadline, runtime::Cancellation* cancel);
  static runtime::task<void> convince(Blobs* self, RoundPtr round, std::size_t voter, Question question, ValuePtr value,
                                      Instant deadline);
  runtime::task<Tried> try_once(RoundPtr round, std::size_t voter, Question question, ValuePtr value, Instant deadline);
  runtime::task<Tried> push(RoundPtr round, std::size_t voter, ValuePtr value, Instant deadline);
  static runtime::task<void> send_pieces(Blobs* self, RoundPtr round, std::size_t voter, ValuePtr value,
                                         std::shared_ptr<Sending> sending, Instant deadline);
  runtime::task<Tried> ask(RoundPtr round, std::size_t voter, Question question, Instant deadline);
  runtime::task<Result<std::string>> collect(BlobKey key, RoundPtr looks, Newest newest, Instant deadline,
                                             runtime::Cancellation* cancel);
  static runtime::task<void> look(Blobs* self, RoundPtr round, std::size_t voter, BlobKey key, Instant deadline);
  struct Collecting;
  static runtime::task<void> fetch_pieces(Blobs* self, std::shared_ptr<Collecting> work, std::size_t first);
  runtime::task<Result<std::optional<Blob>>> get_once(BlobKey key, JobFence fence, Instant deadline,
                                                      runtime::Cancellation* cancel);
  std::string describe(const Round& round) const;

  runtime::Runtime& runtime_;
  registers::Lines& lines_;
  BlobsSettings settings_;
  Prng prng_;
  std::map<BlobKey, std::weak_ptr<Round>> behind_;  // voters that are still catching up
  std::size_t behind_bytes_ = 0;
  bool closed_ = false;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::blobs
