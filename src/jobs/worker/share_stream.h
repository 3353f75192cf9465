// What one share has measured and its end, on their way to the owner of the job: what is to be said next, and what the
// answers mean. One thing is under way at a time. Nothing is forgotten before the owner has it for good, or does not
// want it.
//
// Number n of a stream is the n-th second that was told, and counts for second from + n - 1 of the run. A share that
// began later than its stream has nothing to tell of the seconds before: empty ones stand for these.
//
// No clock, no network. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "jobs/account/account_keeper.h"
#include "jobs/dispatch/letters.h"

namespace bellwether::node {

class ShareStream {
 public:
  // Between the begin of a stream and the first second that its share tells, at most.
  static constexpr uint64_t kMostGap = 3'600;

  ShareStream(account::Shape shape, std::size_t bytes_most)
      : shape_(shape), keeper_(std::in_place, shape, bytes_most) {}

  // Second 0 of the workflow is second `base` of the run, and the stream begins with second `from` of the run.
  void begin(uint64_t base, uint64_t from) { base_ = base, from_ = from; }
  // A second of the workflow; seconds come in their order. kProtocol: it is no such thing.
  Status add(uint64_t second, std::string_view window);
  void end(dispatch::ShareEnd end) { end_ = std::move(end), end_noted_ = false; }

  // What to say to the owner now: some seconds, or that and how the share has ended; nothing while there is no more.
  // Up to `seconds_most` seconds are put together.
  using Next = std::variant<std::monostate, account::Delta, dispatch::ShareEnd>;
  Next next(uint64_t seconds_most = 1);
  // Seconds that are to be said.
  uint64_t unsent() const { return keeper_ ? keeper_->unsent() : 0; }
  bool has_ended() const { return end_.has_value(); }
  // The answer to a delta. kNotFound: some seconds are lost to the account; kProtocol: an owner that contradicts
  // itself. The rest goes on either way. `*progress`: the delta is in the account.
  Status applied(const account::Delta& delta, const dispatch::Applied& answer, bool* progress);
  void noted() { end_noted_ = true; }
  // There was no answer: it is to be said again.
  void again();
  // Another owner, or the same after a while, has all up to this number. Errors as of applied().
  Status resume(uint64_t applied);
  // Nothing that was measured is wanted.
  void discard() { keeper_.reset(); }

  // All was said, and it is not certain yet that all of it survives the owner: prove() makes the last of it be said
  // again, so that the answer tells.
  bool is_in_doubt() const { return end_ && end_noted_ && keeper_ && !keeper_->empty(); }
  void prove();
  bool delivered() const { return end_ && end_noted_ && !is_in_doubt(); }

  uint64_t from() const { return from_; }
  uint64_t last_number() const { return last_; }
  std::size_t bytes() const { return keeper_ ? keeper_->bytes() : 0; }

 private:
  account::Shape shape_;
  std::optional<account::AccountKeeper> keeper_;  // nothing: what was measured is not wanted
  uint64_t last_ = 0;                             // number
  uint64_t base_ = 0;
  uint64_t from_ = 0;
  uint64_t applied_ = 0;
  uint64_t last_sent_first_ = 0;  // first number of the newest delta that was said; 0: none
  std::optional<dispatch::ShareEnd> end_;
  bool end_noted_ = false;
};

}  // namespace bellwether::node
