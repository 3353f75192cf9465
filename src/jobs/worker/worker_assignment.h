// One assignment on this worker: its process, and the delivery of its seconds to the owner of the job. The kernel
// decides (jobs/dispatch/worker_kernel.h); this executes. One thread, that of its runtime.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/net/peer_links.h"
#include "core/base/periodic.h"
#include "core/resilience/backpressure.h"
#include "core/resilience/extension.h"
#include "core/resilience/retry.h"
#include "jobs/assignment/assignment_process.h"
#include "jobs/dispatch/messages.h"
#include "jobs/dispatch/worker_kernel.h"
#include "jobs/ingest/outbox.h"

namespace bellwether::node {

// The seconds and the end of one assignment, on their way to the owner of the job: the next message, and the effect of
// its answer. One message is under way at a time. The stream deletes nothing before it is durable with the owner, or
// unwanted.
//
// Number n of a stream is its n-th reported second, and counts for second from + n - 1 of the run. An assignment that
// began later than its stream has no earlier seconds: empty ones stand for them.
//
// No clock, no network. One thread.
class AssignmentStream {
 public:
  // Between the begin of a stream and the first reported second, at most.
  static constexpr uint64_t kMaxGap = 3'600;

  AssignmentStream(ingest::Shape shape, std::size_t bytes_most)
      : shape_(shape), outbox_(std::in_place, shape, bytes_most) {}

  void limit(std::size_t bytes_most) {
    if (outbox_) outbox_->limit(bytes_most);
  }
  // Second 0 of the workflow is second `base` of the run, and the stream begins with second `from` of the run.
  void begin(uint64_t base, uint64_t from) { base_ = base, from_ = from; }
  // A second of the workflow, in order, and the time of it that the load has lived through. kProtocol: it is no such
  // thing.
  Status add(uint64_t second, std::string_view window, Duration covered = Duration::seconds(1));
  void end(dispatch::AssignmentEnd end) { end_ = std::move(end), end_noted_ = false; }

  // The next message to the owner: some seconds, or the end after all of them; nothing if all is sent. It merges up to
  // `seconds_most` seconds.
  using Next = std::variant<std::monostate, ingest::Delta, dispatch::AssignmentEnd>;
  Next next(uint64_t seconds_most = 1);
  // Seconds to be sent.
  uint64_t unsent() const { return outbox_ ? outbox_->unsent() : 0; }
  bool has_ended() const { return end_.has_value(); }
  // The answer to a delta. kNotFound: some seconds are lost to the ingest; kProtocol: the owner contradicts itself. In
  // both cases the rest goes on. `*progress`: the ingest has the delta.
  Status applied(const ingest::Delta& delta, const dispatch::Applied& answer, bool* progress);
  void noted() { end_noted_ = true; }
  // No answer came: send it again.
  void again();
  // Another owner, or the same after a while, has all up to this number. Errors as of applied().
  Status resume(uint64_t applied);
  // The owner wants none of the measured seconds.
  void discard() { outbox_.reset(); }

  // All was sent, but some of it may not survive the owner: prove() sends the last of it again, so that the answer
  // shows it.
  bool is_in_doubt() const { return end_ && end_noted_ && outbox_ && !outbox_->empty(); }
  void prove();
  bool delivered() const { return end_ && end_noted_ && !is_in_doubt(); }

  // As of Outbox::beyond(); nothing that nobody wants.
  std::vector<const ingest::Delta*> beyond(uint64_t number) const {
    return outbox_ ? outbox_->beyond(number) : std::vector<const ingest::Delta*>();
  }
  const std::optional<dispatch::AssignmentEnd>& ended() const { return end_; }

  uint64_t from() const { return from_; }
  // The owner has all seconds of the workflow before this one.
  uint64_t applied_seconds() const { return from_ + applied_ - base_; }
  uint64_t last_number() const { return last_; }
  std::size_t bytes() const { return outbox_ ? outbox_->bytes() : 0; }

 private:
  ingest::Shape shape_;
  std::optional<ingest::Outbox> outbox_;  // nothing: the owner does not want the seconds
  uint64_t last_ = 0;                     // number
  uint64_t base_ = 0;
  uint64_t from_ = 0;
  uint64_t applied_ = 0;
  uint64_t last_sent_first_ = 0;  // first number of the newest delta that was sent; 0: none
  std::optional<dispatch::AssignmentEnd> end_;
  bool end_noted_ = false;
};

class WorkerService;

class WorkerAssignment final : public std::enable_shared_from_this<WorkerAssignment> {
 public:
  // All references must outlive it.
  WorkerAssignment(runtime::Runtime& runtime, cluster::PeerLinks& links, WorkerService& worker,
                   dispatch::AssignmentKey key, AssignmentStream stream, Duration graceful_stop);
  WorkerAssignment(const WorkerAssignment&) = delete;
  WorkerAssignment& operator=(const WorkerAssignment&) = delete;

  void start(AssignmentFactory& factory, ChildOrder order);
  // It may make load until then, by the boot clock.
  void permit(Instant until);
  void begin(const dispatch::kernel_effect::Begin& begin);
  void hand_over(const dispatch::kernel_effect::HandOver& over);
  void scale(uint32_t vus) {
    if (process_ != nullptr) process_->scale(vus);
  }
  void stop(dispatch::StopHow how);
  void kill() {
    if (process_ != nullptr) process_->kill();
  }
  void save() {
    if (process_ != nullptr) process_->save();
  }
  // Asks the owner for more time, once.
  static runtime::task<void> ask_for_time(std::shared_ptr<WorkerAssignment> self, Duration left,
                                          resilience::ExtensionRequest::Reason reason);

  void tell_end(const dispatch::AssignmentEnd& end);
  void resume(uint64_t applied);
  void discard() { stream_.discard(); }
  // The job has another owner: requests to the last one get no answer.
  void follow();
  // Sends everything to the owner, with retries, until close().
  static runtime::task<void> deliver(std::shared_ptr<WorkerAssignment> self);
  void close() { over_.cancel(); }

  const AssignmentStream& stream() const { return stream_; }
  // Adds its seconds beyond that number while the answer has room, and its end if all of them are in it.
  void add_kept(uint64_t number, dispatch::Kept& answer, std::size_t& room) const;
  // Of the memory for its stream.
  void limit(std::size_t bytes_most) { stream_.limit(bytes_most); }
  // Its counters, for screens; nothing before its begin, some time after its end, and while the owner drops them.
  std::optional<dispatch::LiveMessage::Assignment> live(Instant now) const;
  // Its headway; nothing before its begin and after its end.
  dispatch::Headway headway(Instant now);
  // The load of the owner's buffer, as last reported.
  const resilience::Pacer& pacer() const { return pacer_; }

 private:
  void on_prepared(Status prepared);
  void on_second(uint64_t second, std::string window, Duration covered);
  void on_counters(const ChildCounters& counters);
  void on_ended(const AssignmentEnd& end);

  runtime::task<void> say(AssignmentStream::Next what);
  // The time before which it sends nothing, because the owner has too much to process; in the past: it may send.
  Instant held_back_until(Instant now) const;
  runtime::task<void> hold_back(Instant until);
  runtime::task<void> rest();
  runtime::task<void> pause(Duration at_least);
  resilience::ExtensionRequest request(resilience::ExtensionRequest::Reason reason) const;
  dispatch::JobMessage message_of_type(const AssignmentStream::Next& what) const;
  // Whether the owner has taken it; else `again_after` may give a minimum wait.
  bool heard(const AssignmentStream::Next& what, const std::string& from, const Result<std::string>& answer,
             Duration& again_after);
  bool heard_applied(const ingest::Delta& delta, const std::string& from, const dispatch::Applied& applied);
  void tell_delivered();
  void complain(const std::string& text);
  void wake();
  void count_turns(Instant now);
  resilience::Retry fresh_retry();

  runtime::Runtime& runtime_;
  cluster::PeerLinks& links_;
  WorkerService& worker_;
  dispatch::AssignmentKey key_;
  AssignmentStream stream_;
  Duration graceful_stop_;
  Periodic proofs_;
  std::unique_ptr<AssignmentProcess> process_;
  std::string nonsense_;  // the invalid message of its process, which was killed for it
  bool begun_ = false;
  Instant permit_;      // by the boot clock, if it needs one
  uint64_t until_ = 0;  // it hands over at that second of the run; 0: it does not
  Instant begun_at_;
  Instant ended_at_;
  ChildCounters told_;     // the last
  uint32_t loops_ = 0;     // that are to turn
  Duration could_turn_;    // the time for each of them, summed up
  Instant turns_counted_;  // until when

  resilience::Pacer pacer_;
  Instant said_;  // when the owner last took something
  resilience::Retry retry_;
  std::size_t turn_ = 0;   // of the managers, since one of them has taken something
  bool is_named_ = false;  // the owner, by the manager that answered last
  bool followed_ = false;  // since the last attempt began
  bool told_delivered_ = false;
  std::string complaint_;  // the last one
  runtime::Cancellation over_;
  runtime::Cancellation* resting_ = nullptr;  // the wait of deliver(), at most one
  runtime::Cancellation* pausing_ = nullptr;
  runtime::Cancellation* asking_ = nullptr;
};

}  // namespace bellwether::node
