// The owner and the state of a job: one register a job, which one owner at a time may write. Two stores keep such
// registers and behave alike (conformance_test.cc): the quorum of configured peers (quorum_job_store.h), and etcd
// (etcd_job_store.h). All code that works with jobs uses only this interface.
//
// A handle guarantees, through all crashes, pauses and partitions:
//   - no two owners of a job have one fence, and each has a higher one than those before it;
//   - every later owner sees all values that were written or read; writes and reads take effect one after the other,
//     each
//     between its call and its end;
//   - the replicas refuse a write of a former owner;
//   - with clocks within the drift, no two handles are held() at once.
// Deadlines are of the monotonic clock, leases of the boot clock. One thread, that of the store's runtime.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cluster/register/acceptor.h"
#include "cluster/register/small.h"
#include "core/base/result.h"
#include "core/base/units.h"
#include "core/runtime/runtime.h"

namespace bellwether::blobs {
class Blobs;
}

namespace bellwether::jobs {

// The first character of the keys of registers that are not of jobs; no id of a job begins so.
inline constexpr char kNotOfJobs = '@';

// One node's view of the registers of all jobs, without a request to any of them: enough to list the jobs, to answer
// people, and to notice a job without an owner. It may lack the newest state, and is never a base for a change: a node
// that acts takes the job first. One thread, that of its owner.
class JobView {
 public:
  virtual ~JobView() = default;
  // Whether it has seen anything yet. Before that no job is visible.
  virtual bool has_read() const = 0;
  // Of all jobs, the retired ones with them: visit(key). The visit must not lead to a change of the registers.
  template <class Visit>
  void for_each_key(Visit visit) const {
    visit_keys(
        [](void* context, const std::string& key) {
          if (!key.starts_with(kNotOfJobs)) (*static_cast<Visit*>(context))(key);
        },
        &visit);
  }
  // The content of one job's register; nullptr: no such job is seen. Good until the next turn of the loop.
  virtual const registers::RegisterRecord* find(const std::string& key) const = 0;
  // A node holds it under a lease, as far as is seen.
  virtual bool is_leased(const std::string& key) const = 0;

 protected:
  using VisitKey = void (*)(void* context, const std::string& key);
  virtual void visit_keys(VisitKey visit, void* context) const = 0;
};

using registers::JobFence;
using registers::MemberId;

using registers::kMaxKeyBytes;
inline constexpr std::size_t kMaxStateBytes = registers::kMaxValueBytes - 1;  // one byte says what it is
inline constexpr std::size_t kMaxHandles = 10'000;                            // of one store at a time

struct JobSettings {
  Duration lease = Duration::seconds(30);  // no other node is given the job while it runs; 2 s to 5 min
  double drift = 0.01;                     // how far a clock may run from true time, as a share
  // How often an owner renews its lease, at the latest.
  constexpr Duration renew_every() const { return lease / 3; }
};
// kInvalid, with the bounds.
inline Status check_settings(const JobSettings& settings) {
  if (settings.lease < Duration::seconds(2) || settings.lease > registers::kLongestJobLease) {
    return fail(Errc::kInvalid, "the lease of jobs is {}; it must be between 2 s and 5 min",
                format_duration(settings.lease));
  }
  if (settings.drift < 0 || settings.drift > 0.2) {
    return fail(Errc::kInvalid, "the drift of clocks must be a ratio between 0 and 0.2");
  }
  return {};
}

struct TakenJob {
  JobFence fence;
  std::optional<std::string> value;  // the last value written; nothing: none yet
};

struct LostJob {
  JobFence fence;     // under which it was held
  std::string owner;  // the present owner; empty when it is unknown
  std::string why;
};

// Why a value was not written. If `perhaps`, it may have been, or may be until the next write has succeeded.
struct NotWritten {
  Error error;
  bool perhaps = false;
};
using Written = tl::expected<void, NotWritten>;

// One node's way to one job. Its end gives the job back; calls must have ended before.
class JobHandle {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // The job is held no more, though it was not given back. Once for each ownership, from within the loop or a call of
    // the handle; must not destroy the handle.
    virtual void on_lost(const LostJob& lost) = 0;
  };

  virtual ~JobHandle() = default;
  virtual const std::string& key() const = 0;

  // Owns the job from then on; waits while another node holds it. kTimeout and kCancelled (with the holder, or the
  // voters that do not answer; it is not held then), kExists (held already, or being taken), kNotFound (the job was
  // retired), kInvalid (the content of the register cannot be read), kClosed (the store has ended).
  virtual runtime::task<Result<TakenJob>> take(Instant deadline, runtime::Cancellation* cancel) = 0;
  // The job's state from then on. kRefused (this handle does not hold the job, or has just lost it), kTooLarge,
  // kTimeout and kCancelled (`perhaps`; the job is still held until it is lost), kExhausted (too much waits already).
  virtual runtime::task<Written> write(std::string value, Instant deadline, runtime::Cancellation* cancel) = 0;
  // The last value written, by any owner; certain to be so at some time during the call. Errors as of write().
  virtual runtime::task<Result<std::optional<std::string>>> read(Instant deadline, runtime::Cancellation* cancel) = 0;
  // Not held from when this begins; a node that waits for the job gets it at once. An error: others were perhaps not
  // informed, and wait for the end of the lease. Does nothing when the job is not held.
  virtual runtime::task<Status> give_back(Instant deadline, runtime::Cancellation* cancel) = 0;
  // Ends the job for good: no node may take it any more. Gives it back. The stores delete the register after an hour.
  // REQUIRES that no later job has this key: after that hour a store would take it for a new job. Errors as of write(),
  // after which the job is perhaps retired.
  virtual runtime::task<Written> retire(Instant deadline, runtime::Cancellation* cancel) = 0;

  // Ask before each act, with a boot clock that was read just now.
  bool held(Instant boot_now) const { return boot_now < held_until(); }
  // Grows with renewals; in the past when the job is not held.
  virtual Instant held_until() const = 0;
  // To be sent along with every act. Of the present ownership, or of the last; 0 before the first.
  virtual JobFence fence() const = 0;
};

class JobStore {
 public:
  virtual ~JobStore() = default;
  // For messages: where the registers are, without credentials.
  virtual std::string describe() const = 0;
  // kInvalid (a key of 1 to 200 bytes is needed), kExists (this store has a handle of this job), kExhausted, kClosed.
  // Store and listener must outlive the handle. Sends nothing.
  virtual Result<std::unique_ptr<JobHandle>> open(std::string key, JobHandle::Listener& listener) = 0;
  // Ends all calls with kClosed, and gives back what is held, at most within `most`. Before the end of the store.
  virtual runtime::task<void> close(Duration most) = 0;
};

// The errors that open() finds in a key, and write() in a value.
inline Status check_key(const std::string& key) {
  if (!key.empty() && key.size() <= kMaxKeyBytes) return {};
  return fail(Errc::kInvalid, "the key of a job must have 1 to {} bytes; this one has {}", kMaxKeyBytes, key.size());
}
inline Error too_large(const std::string& key, std::size_t bytes) {
  return {Errc::kTooLarge,
          fmt::format("the state of job '{}' has {} bytes; the limit is {}", key, bytes, kMaxStateBytes)};
}

// A node's stores, for its other roles: set when the role that keeps one is prepared, and good until that role ends.
struct NodeStores {
  JobStore* registers = nullptr;
  blobs::Blobs* blobs = nullptr;
};

}  // namespace bellwether::jobs
