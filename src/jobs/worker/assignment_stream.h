// The seconds and the end of one assignment, on their way to the owner of the job: the next message, and the effect of
// its answer. One message is under way at a time. The stream deletes nothing before it is durable with the owner, or
// unwanted.
//
// Number n of a stream is its n-th reported second, and counts for second from + n - 1 of the run. An assignment that
// began later than its stream has no earlier seconds: empty ones stand for them.
//
// No clock, no network. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "jobs/dispatch/messages.h"
#include "jobs/ingest/outbox.h"

namespace bellwether::node {

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
  // A second of the workflow, in order. kProtocol: it is no such thing.
  Status add(uint64_t second, std::string_view window);
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

}  // namespace bellwether::node
