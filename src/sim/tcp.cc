#include "sim/tcp.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "sim/sockets.h"

namespace bellwether::sim {
namespace {

constexpr std::size_t kLargestSegment = 8 * 1024;
constexpr Duration kOpeningPatience = Duration::seconds(1);
constexpr Duration kMinPatience = Duration::millis(200);
constexpr Duration kMaxPatience = Duration::seconds(120);
constexpr uint32_t kOpeningRetries = 6;
constexpr uint32_t kRetries = 15;
// How long the kernel keeps a connection whose stream is gone, for the peer's last words.
constexpr Duration kLinger = Duration::seconds(60);

}  // namespace

Connection::Connection(Sockets& sockets, Timeline& timeline, TcpSettings settings, Identity identity,
                       ListenQueue* listener)
    : sockets_(sockets),
      timeline_(timeline),
      settings_(settings),
      identity_(identity),
      listener_(listener),
      state_(listener == nullptr ? State::kOpening : State::kAnswering) {}

void Connection::open() {
  const auto kind = state_ == State::kOpening ? Segment::Kind::kOpen : Segment::Kind::kOpenAnswer;
  transmit(kind, 0, {}, false, false);
  expect_answer();
}

std::size_t Connection::read(MutableBytes into) {
  const std::size_t count = std::min(into.size(), received_.size());
  std::memcpy(into.data(), received_.data(), count);
  received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(count));
  // The peer learns of the new room once it is worth a packet.
  const uint64_t limit = expected_ + settings_.receive_buffer - received_.size();
  if (state_ == State::kOpen && limit - announced_limit_ >= settings_.receive_buffer / 2) acknowledge();
  return count;
}

void Connection::write(Bytes bytes) {
  check(bytes.size() <= space() && !finish_wanted_, "a write fits, and comes before the finish");
  unacknowledged_.insert(unacknowledged_.end(), bytes.begin(), bytes.end());
  user_wants_space_ = true;
  pump();
}

void Connection::finish_writing() {
  if (state_ != State::kOpen || std::exchange(finish_wanted_, true)) return;
  pump();
}

void Connection::close(bool resets) {
  user_ = nullptr;
  closed_ = true;
  if (state_ == State::kDead) return;
  if (state_ != State::kOpen) return die(Errc::kClosed);
  if (resets) return reset();
  if (!received_.empty()) {
    BW_PROBE("sim: a connection is closed with bytes unread");
    return reset();
  }
  finish_writing();
  end_when_done();
  timeline_.after(kLinger, [self = weak_from_this()] {
    if (const auto connection = self.lock()) connection->die(Errc::kClosed);
  });
}

void Connection::reset() {
  transmit(Segment::Kind::kReset, next_, {}, false, false);
  die(Errc::kReset);
}

void Connection::die(Errc why) {
  if (state_ == State::kDead) return;
  const auto keep = shared_from_this();
  state_ = State::kDead;
  error_ = why;
  sockets_.remove(*this);
  tell_user();
}

// The end that finished first stays until kLinger is over, to acknowledge each copy of the peer's finish.
void Connection::end_when_done() {
  if (closed_ && peer_finished_ && finish_acknowledged_ && !finished_first_) die(Errc::kClosed);
}

void Connection::tell_user() {
  if (user_ != nullptr) user_->mark();
}

// --- sending ---------------------------------------------------------------------------------------------------------

void Connection::transmit(Segment::Kind kind, uint64_t sequence, Bytes data, bool finish, bool probe) {
  announced_limit_ = std::max(announced_limit_, expected_ + settings_.receive_buffer - received_.size());
  Segment segment;
  segment.kind = kind;
  segment.finish = finish;
  segment.probe = probe;
  segment.from = identity_.local;
  segment.to = identity_.peer;
  segment.connection = identity_.number;
  segment.sequence = sequence;
  segment.data.assign(data.begin(), data.end());
  segment.acknowledged = expected_;
  segment.limit = announced_limit_;
  sockets_.send(std::move(segment));
}

void Connection::pump() {
  if (state_ != State::kOpen) return;
  while (next_ < std::min(end_of_data(), limit_)) {
    const uint64_t possible = std::min(end_of_data(), limit_) - next_;
    std::size_t size = std::min<std::size_t>(possible, kLargestSegment);
    if (timeline_.prng().chance(settings_.split)) size = 1 + timeline_.prng().below(size);
    transmit(Segment::Kind::kData, next_, Bytes(unacknowledged_).subspan(next_ - base_, size), false, false);
    next_ += size;
    if (timed_number_ == 0 && retries_ == 0) {
      timed_number_ = next_;
      timed_at_ = timeline_.now();
    }
  }
  if (finish_wanted_ && !finish_acknowledged_ && next_ == end_of_data()) {
    transmit(Segment::Kind::kData, next_, {}, true, false);
    ++next_;
  }
  expect_answer();
}

bool Connection::waits_for_answer() const {
  if (state_ == State::kOpening || state_ == State::kAnswering) return true;
  return state_ == State::kOpen && (!unacknowledged_.empty() || (finish_wanted_ && !finish_acknowledged_));
}

Duration Connection::patience() const {
  const Duration first = state_ == State::kOpen ? kMinPatience + round_trip_ * 2 : kOpeningPatience;
  return std::min(first * (int64_t{1} << std::min<uint32_t>(retries_, 10)), kMaxPatience);
}

void Connection::expect_answer() {
  if (!waits_for_answer()) {
    deadline_ = Instant::never();
  } else if (deadline_ == Instant::never()) {
    deadline_ = timeline_.now() + patience();
    wait_until_deadline();
  }
}

// The timer is set once at a time: when it comes too early, because an answer came, it is set again.
void Connection::wait_until_deadline() {
  if (std::exchange(timer_set_, true)) return;
  timeline_.after(deadline_ - timeline_.now(), [self = weak_from_this()] {
    const auto connection = self.lock();
    if (connection == nullptr) return;
    connection->timer_set_ = false;
    if (connection->state_ == State::kDead || connection->deadline_ == Instant::never()) return;
    if (connection->deadline_ <= connection->timeline_.now()) return connection->answer_is_late();
    connection->wait_until_deadline();
  });
}

void Connection::answer_is_late() {
  if (++retries_ > (state_ == State::kOpen ? kRetries : kOpeningRetries)) {
    BW_PROBE("sim: a connection dies because nobody answers");
    return die(Errc::kTimeout);
  }
  deadline_ = Instant::never();
  timed_number_ = 0;
  if (state_ != State::kOpen) return open();
  BW_PROBE("sim: bytes are sent again");
  next_ = base_;
  if (limit_ <= base_ && !unacknowledged_.empty()) transmit(Segment::Kind::kData, next_, {}, false, /*probe=*/true);
  pump();
}

// --- receiving -------------------------------------------------------------------------------------------------------

void Connection::receive(const Segment& segment) {
  if (state_ == State::kDead) return;
  const auto keep = shared_from_this();
  switch (segment.kind) {
    case Segment::Kind::kReset: return die(state_ == State::kOpening ? Errc::kRefused : Errc::kReset);
    case Segment::Kind::kOpen:
      if (state_ == State::kAnswering) transmit(Segment::Kind::kOpenAnswer, 0, {}, false, false);
      return;
    case Segment::Kind::kOpenAnswer:
      if (state_ == State::kOpening) {
        state_ = State::kOpen;
        deadline_ = Instant::never();
        retries_ = 0;
        tell_user();
      }
      limit_ = std::max(limit_, segment.limit);
      return acknowledge();
    case Segment::Kind::kData: break;
  }
  if (state_ == State::kOpening) return;  // overtook the answer; it will come again
  if (state_ == State::kAnswering) {
    state_ = State::kOpen;
    deadline_ = Instant::never();
    retries_ = 0;
    sockets_.opened(*this);
  }
  take_acknowledgement(segment);
  take_data(segment);
  end_when_done();
}

void Connection::take_acknowledgement(const Segment& segment) {
  limit_ = std::max(limit_, segment.limit);
  retries_ = 0;
  if (segment.acknowledged > base_) {
    deadline_ = Instant::never();
    if (timed_number_ != 0 && segment.acknowledged >= timed_number_) {
      round_trip_ = timeline_.now() - timed_at_;
      timed_number_ = 0;
    }
    const uint64_t data = std::min(segment.acknowledged, end_of_data()) - base_;
    finish_acknowledged_ = finish_wanted_ && segment.acknowledged > end_of_data();
    if (finish_acknowledged_ && !peer_finished_) finished_first_ = true;
    unacknowledged_.erase(unacknowledged_.begin(), unacknowledged_.begin() + static_cast<std::ptrdiff_t>(data));
    base_ += data;
    next_ = std::max(next_, segment.acknowledged);
    if (data > 0 && std::exchange(user_wants_space_, false)) tell_user();
  }
  pump();
}

void Connection::take_data(const Segment& segment) {
  if (segment.data.empty() && !segment.finish) {
    if (segment.probe) acknowledge();
    return;
  }
  if (closed_ && segment.sequence + segment.data.size() > expected_) {
    BW_PROBE("sim: bytes come for a connection that was closed");
    return reset();
  }
  const uint64_t end = segment.sequence + segment.data.size() + (segment.finish ? 1 : 0);
  if (segment.sequence > expected_) BW_PROBE("sim: a segment is overtaken");
  if (end > expected_) {
    Segment& kept = early_[segment.sequence];
    if (kept.data.size() <= segment.data.size()) kept = segment;
  }
  while (!early_.empty() && early_.begin()->first <= expected_) {
    const auto first = early_.extract(early_.begin());
    absorb(first.mapped());
  }
  acknowledge();
}

void Connection::absorb(const Segment& segment) {
  const uint64_t end = segment.sequence + segment.data.size();
  if (end > expected_) {
    const Bytes fresh = Bytes(segment.data).subspan(expected_ - segment.sequence);
    const std::size_t room = settings_.receive_buffer - received_.size();
    check(fresh.size() <= room, "a sender keeps to the limit");
    received_.insert(received_.end(), fresh.begin(), fresh.end());
    expected_ = end;
    tell_user();
  }
  if (segment.finish && expected_ == end && !peer_finished_) {
    peer_finished_ = true;
    ++expected_;
    tell_user();
  }
}

}  // namespace bellwether::sim
