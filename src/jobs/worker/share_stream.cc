#include "jobs/worker/share_stream.h"

#include <utility>

#include "core/base/probe.h"

namespace bellwether::node {

Status ShareStream::add(uint64_t second, std::string_view bytes) {
  if (!keeper_) return {};
  BW_RETURN_IF_ERROR(account::check_window(bytes, shape_));
  const uint64_t next = last_ + 1;
  uint64_t number = next;
  if (second >= dispatch::kMostSeconds) {
    return fail(Errc::kProtocol, "a share tells of its second {}", second);
  }
  if (base_ + second >= from_) number = base_ + second - from_ + 1;
  if (number > next + kMostGap) {
    return fail(Errc::kProtocol, "a share tells of its second {}, {} later than it should", second, number - next);
  }
  for (uint64_t missing = next; missing < number; ++missing) {
    BW_PROBE("worker: an empty second stands for one that was not lived through");
    keeper_->add(account::encode_window(metrics::Window(shape_)));
  }
  keeper_->add(std::string(bytes));
  last_ = keeper_->last_number();
  return {};
}

ShareStream::Next ShareStream::next(uint64_t seconds_most) {
  if (keeper_) {
    auto delta = keeper_->next(seconds_most);
    if (delta) {
      last_sent_first_ = delta->first;
      return std::move(*delta);
    }
  }
  if (end_ && !end_noted_) return *end_;
  return std::monostate();
}

Status ShareStream::applied(const account::Delta& delta, const dispatch::Applied& answer, bool* progress) {
  *progress = keeper_ && answer.applied >= delta.last;
  if (!keeper_) return {};
  if (!*progress) return resume(answer.applied);
  Status good = keeper_->answered(answer.applied, answer.durable);
  if (good) {
    applied_ = answer.applied;
  } else {
    *progress = false;
    again();
  }
  return good;
}

void ShareStream::again() {
  // It succeeded before.
  if (keeper_) static_cast<void>(keeper_->resume(applied_));
}

Status ShareStream::resume(uint64_t applied) {
  if (!keeper_) return {};
  Status good = keeper_->resume(applied);
  if (good || good.error().code == Errc::kNotFound) applied_ = applied;
  return good;
}

void ShareStream::prove() {
  if (!is_in_doubt() || last_sent_first_ == 0) return;
  static_cast<void>(keeper_->resume(last_sent_first_ - 1));
}

}  // namespace bellwether::node
