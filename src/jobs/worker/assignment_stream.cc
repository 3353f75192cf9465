#include "jobs/worker/assignment_stream.h"

#include <utility>

#include "core/base/probe.h"

namespace bellwether::node {

Status AssignmentStream::add(uint64_t second, std::string_view bytes) {
  if (!outbox_) return {};
  BW_RETURN_IF_ERROR(ingest::check_window(bytes, shape_));
  const uint64_t next = last_ + 1;
  uint64_t number = next;
  if (second >= dispatch::kMaxSeconds) {
    return fail(Errc::kProtocol, "an assignment reports second {}, which is beyond the limit", second);
  }
  if (base_ + second >= from_) number = base_ + second - from_ + 1;
  if (number > next + kMaxGap) {
    return fail(Errc::kProtocol, "an assignment reports second {}, {} later than expected", second, number - next);
  }
  for (uint64_t missing = next; missing < number; ++missing) {
    BW_PROBE("worker: an empty second stands for one that was not lived through");
    outbox_->add(ingest::encode_window(metrics::Window(shape_)));
  }
  outbox_->add(std::string(bytes));
  last_ = outbox_->last_number();
  return {};
}

AssignmentStream::Next AssignmentStream::next(uint64_t seconds_most) {
  if (outbox_) {
    auto delta = outbox_->next(seconds_most);
    if (delta) {
      last_sent_first_ = delta->first;
      return std::move(*delta);
    }
  }
  if (end_ && !end_noted_) return *end_;
  return std::monostate();
}

Status AssignmentStream::applied(const ingest::Delta& delta, const dispatch::Applied& answer, bool* progress) {
  *progress = outbox_ && answer.applied >= delta.last;
  if (!outbox_) return {};
  if (!*progress) return resume(answer.applied);
  Status good = outbox_->answered(answer.applied, answer.durable);
  if (good) {
    applied_ = answer.applied;
  } else {
    *progress = false;
    again();
  }
  return good;
}

void AssignmentStream::again() {
  // It succeeded before.
  if (outbox_) static_cast<void>(outbox_->resume(applied_));
}

Status AssignmentStream::resume(uint64_t applied) {
  if (!outbox_) return {};
  Status good = outbox_->resume(applied);
  if (good || good.error().code == Errc::kNotFound) applied_ = applied;
  return good;
}

void AssignmentStream::prove() {
  if (!is_in_doubt() || last_sent_first_ == 0) return;
  static_cast<void>(outbox_->resume(last_sent_first_ - 1));
}

}  // namespace bellwether::node
