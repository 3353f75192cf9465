// One share on this worker: its process, and the way of what it measures to the owner of the job. What becomes of it,
// the desk decides (jobs/dispatch/worker_desk.h); this one does it. One thread, that of its runtime.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/net/peer_links.h"
#include "core/base/periodic.h"
#include "core/resilience/backpressure.h"
#include "core/resilience/extension.h"
#include "core/resilience/retry.h"
#include "jobs/dispatch/worker_desk.h"
#include "jobs/share/share_process.h"
#include "jobs/worker/share_stream.h"

namespace bellwether::node {

class WorkerService;

class WorkerShare final : public std::enable_shared_from_this<WorkerShare> {
 public:
  // Everything that is referred to outlives it.
  WorkerShare(runtime::Runtime& runtime, cluster::PeerLinks& links, WorkerService& worker, dispatch::ShareKey key,
              ShareStream stream, Duration graceful_stop);
  WorkerShare(const WorkerShare&) = delete;
  WorkerShare& operator=(const WorkerShare&) = delete;

  void start(ShareFactory& factory, ChildOrder order);
  void begin(const dispatch::desk_effect::Begin& begin);
  void hand_over(const dispatch::desk_effect::HandOver& over);
  void scale(uint32_t vus);
  void stop(dispatch::StopHow how);
  void kill();
  void save();
  // Asks the owner for more time, once.
  static runtime::task<void> ask_for_time(std::shared_ptr<WorkerShare> self, Duration left,
                                          resilience::ExtensionRequest::Reason reason);

  void tell_end(const dispatch::ShareEnd& end);
  void resume(uint64_t applied);
  void discard() { stream_.discard(); }
  // Somebody else owns the job: what waits for an answer waits in vain.
  void follow();
  // Says to the owner what there is to say, again and again, until close().
  static runtime::task<void> deliver(std::shared_ptr<WorkerShare> self);
  void close() { over_.cancel(); }

  const ShareStream& stream() const { return stream_; }
  // What it has done so far, for screens; nothing before its begin, some time after its end, and while the owner drops
  // it.
  std::optional<dispatch::LiveLetter::Share> live(Instant now) const;
  // How far it has come; nothing before its begin and after its end.
  dispatch::Headway headway(Instant now);
  // What the owner said of its buffer.
  const resilience::Pacer& pacer() const { return pacer_; }

 private:
  void on_prepared(Status prepared);
  void on_second(uint64_t second, std::string window, Duration covered);
  void on_counters(const ChildCounters& counters);
  void on_ended(const ShareEnd& end);

  runtime::task<void> say(ShareStream::Next what);
  // Until then nothing is to be said, for the owner has too much to take in; in the past: it may be.
  Instant held_back_until(Instant now) const;
  runtime::task<void> hold_back(Instant until);
  runtime::task<void> rest();
  runtime::task<void> pause(Duration at_least);
  resilience::ExtensionRequest request(resilience::ExtensionRequest::Reason reason) const;
  dispatch::Letter letter_of(const ShareStream::Next& what) const;
  // Whether the owner has taken it; else `again_after` may say how long to wait at least.
  bool heard(const ShareStream::Next& what, const std::string& from, const Result<std::string>& answer,
             Duration& again_after);
  bool heard_applied(const account::Delta& delta, const std::string& from, const dispatch::Applied& applied);
  void tell_delivered();
  void complain(const std::string& text);
  void wake();
  void count_turns(Instant now);
  resilience::Retry fresh_retry();

  runtime::Runtime& runtime_;
  cluster::PeerLinks& links_;
  WorkerService& worker_;
  dispatch::ShareKey key_;
  ShareStream stream_;
  Duration graceful_stop_;
  Periodic proofs_;
  std::unique_ptr<ShareProcess> process_;
  std::string nonsense_;  // what its process said, for which it was killed
  bool begun_ = false;
  uint64_t until_ = 0;  // it hands over at that second of the run; 0: it does not
  Instant begun_at_;
  Instant ended_at_;
  ChildCounters told_;     // the last
  uint32_t loops_ = 0;     // that are to turn
  Duration could_turn_;    // the time that was given to each of them, together
  Instant turns_counted_;  // until when

  resilience::Pacer pacer_;
  Instant said_;  // when the owner last took something
  resilience::Retry retry_;
  std::size_t misses_ = 0;  // in a row
  bool followed_ = false;   // since the last attempt began
  bool told_delivered_ = false;
  std::string complaint_;  // the last one
  runtime::Cancellation over_;
  runtime::Cancellation* resting_ = nullptr;  // what deliver() waits for, at most one of them
  runtime::Cancellation* pausing_ = nullptr;
  runtime::Cancellation* asking_ = nullptr;
};

}  // namespace bellwether::node
