#include "election/context/request_queue.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/check.h"
#include "core/base/encoding.h"

namespace bellwether::context_lead {
namespace {

constexpr int64_t kMillisecond = 1'000'000;  // ns
constexpr std::size_t kIdDigits = 32;
constexpr uint64_t kUuidVersion = 7;
constexpr uint64_t kUuidVariant = 2;

constexpr std::string_view kQueueMagic = "BWCQ";
constexpr uint8_t kVersion = 1;
constexpr std::size_t kHeadBytes = 4 + 1 + 6 * 8 + 2 * 4;
constexpr std::size_t kLiveBytes = 16 + 1 + 1 + 4 + 8 + 8;
constexpr std::size_t kFinishedBytes = 16 + 1 + 1 + 8 + 4 + 8 + 4 + kMaxReasonBytes;
static_assert(kHeadBytes + kMaxRequests * kLiveBytes + kMaxFinished * kFinishedBytes <= kMaxQueueBytes);

// nullptr: none.
template <class List>
auto* find_in(List& list, RequestId id) {
  const auto at = std::ranges::find(list, id, &List::value_type::id);
  return at == list.end() ? nullptr : &*at;
}

}  // namespace

std::string to_string(RequestId id) { return hex(id.high) + hex(id.low); }

RequestId draw_request_id(WallTime now, uint64_t chance, uint64_t more_chance) {
  const auto time = static_cast<uint64_t>(now.unix_ns / kMillisecond);
  return {time << 16 | kUuidVersion << 12 | (chance & 0xfff), kUuidVariant << 62 | more_chance >> 2};
}

std::optional<WallTime> time_of(RequestId id) {
  if ((id.high >> 12 & 0xf) != kUuidVersion || id.low >> 62 != kUuidVariant) return std::nullopt;
  constexpr uint64_t kMaxMillis = INT64_MAX / kMillisecond;
  const uint64_t time = id.high >> 16;
  return time <= kMaxMillis ? std::optional(WallTime{static_cast<int64_t>(time) * kMillisecond}) : std::nullopt;
}

Result<RequestId> parse_request_id(std::string_view text) {
  const auto wrong = [&] {
    return fail(Errc::kInvalid, "'{}' is not a request id; expected 32 hexadecimal digits, not all 0",
                printable(std::string(text.substr(0, kIdDigits + 1))));
  };
  if (text.size() != kIdDigits) return wrong();
  RequestId id;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kHexDigits.find(text[i]);
    if (digit == std::string_view::npos) return wrong();
    uint64_t& half = i < kIdDigits / 2 ? id.high : id.low;
    half = half << 4 | digit;
  }
  if (id == RequestId{}) return wrong();
  return id;
}

std::string to_string(AttemptFence fence) {
  return fmt::format("attempt {} of epoch {}", fence.attempt, fence.epoch.value());
}

Result<RequestQueue> RequestQueue::decode(std::string_view bytes) {
  RequestQueue queue;
  if (bytes.empty()) return queue;
  const auto wrong = [](std::string what) {
    return fail(Errc::kInvalid,
                "the request queue in the register: {}; expected what a leader has written. Check which other program "
                "writes to its key",
                what);
  };
  if (bytes.size() > kMaxQueueBytes) return wrong("it is larger than any queue");
  CanonicalReader in(bytes);
  if (in.raw(kQueueMagic.size()) != kQueueMagic) return wrong("it does not start like a queue");
  if (const auto version = in.take<uint8_t>(); version != kVersion) {
    return fail(Errc::kUnsupported,
                "the request queue in the register has version {}, but this program knows {}. Update this node",
                version, kVersion);
  }
  in.get(queue.leader_, queue.epoch_, queue.terms_, queue.completed_, queue.failed_, queue.horizon_, queue.live_,
         queue.finished_);
  if (!in.ok() || !in.at_end() || queue.finished_.size() > kMaxFinished) {
    return wrong("it is truncated, too long, or has a value out of bounds");
  }
  std::set<RequestId> ids;
  for (const LiveRequest& one : queue.live_) {
    if (one.active_under > queue.epoch_ || (one.is_active() && one.attempts == 0))
      return wrong("it has an attempt without a leader");
    if (!ids.insert(one.id).second) return wrong(fmt::format("it lists request {} twice", to_string(one.id)));
  }
  for (const FinishedRequest& one : queue.finished_) {
    if (!ids.insert(one.id).second) return wrong(fmt::format("it lists request {} twice", to_string(one.id)));
  }
  return queue;
}

std::string RequestQueue::encode() const {
  CanonicalWriter out;
  out.raw(kQueueMagic);
  out.put(kVersion, leader_, epoch_, terms_, completed_, failed_, horizon_, live_, finished_);
  return out.bytes();
}

void RequestQueue::open(NodeId leader, Epoch epoch) {
  check(epoch >= epoch_, "no leader begins under the epoch of an earlier one");
  if (epoch != epoch_) ++terms_;
  leader_ = leader;
  epoch_ = epoch;
  for (LiveRequest& one : live_) one.active_under = Epoch();
}

RequestQueue::State RequestQueue::state(RequestId id, WallTime submitted_at) const {
  if (find(id) != nullptr) return State::kLive;
  if (find_finished(id) != nullptr) return State::kFinished;
  return submitted_at <= horizon_ ? State::kForgotten : State::kUnknown;
}

void RequestQueue::admit(const Request& request) {
  check(state(request.id, request.submitted_at) == State::kUnknown, "a request is admitted once");
  check(live_.size() < kMaxRequests, "the queue has an end");
  LiveRequest one;
  one.id = request.id;
  one.priority = request.priority;
  one.submitted_at = request.submitted_at;
  live_.push_back(one);
}

const LiveRequest* RequestQueue::next() const {
  const LiveRequest* best = nullptr;
  for (const LiveRequest& one : live_) {
    if (!one.is_active() && (best == nullptr || one.priority > best->priority)) best = &one;
  }
  return best;
}

const LiveRequest* RequestQueue::find(RequestId id) const { return find_in(live_, id); }

const FinishedRequest* RequestQueue::find_finished(RequestId id) const { return find_in(finished_, id); }

AttemptFence RequestQueue::start(RequestId id) {
  LiveRequest* one = find_in(live_, id);
  check(one != nullptr && !one->is_active() && epoch_ != Epoch(), "an attempt begins at a queued request");
  ++one->attempts;
  one->active_under = epoch_;
  return one->fence();
}

bool RequestQueue::requeue(RequestId id, AttemptFence fence, bool failed) {
  LiveRequest* one = find_in(live_, id);
  if (one == nullptr || !one->is_active() || one->fence() != fence) return false;
  one->active_under = Epoch();
  if (failed) ++one->failures;
  return true;
}

bool RequestQueue::finish(RequestId id, AttemptFence fence, Outcome outcome, std::string reason) {
  const LiveRequest* one = find(id);
  if (one == nullptr || !one->is_active() || one->fence() != fence) return false;
  if (reason.size() > kMaxReasonBytes) reason.resize(kMaxReasonBytes);
  finished_.push_back({id, outcome, false, fence, one->submitted_at, std::move(reason)});
  live_.erase(live_.begin() + (one - live_.data()));
  ++(outcome == Outcome::kCompleted ? completed_ : failed_);
  forget();
  return true;
}

bool RequestQueue::room_to_finish(std::size_t active) const {
  const auto unsettled = std::ranges::count(finished_, false, &FinishedRequest::settled);
  return static_cast<std::size_t>(unsettled) + active < kMaxFinished;
}

void RequestQueue::mark_settled(RequestId id) {
  if (FinishedRequest* one = find_in(finished_, id)) one->settled = true;
}

// Forgets the settled request with the earliest submission, which keeps the horizon as far back as possible.
void RequestQueue::forget() {
  if (finished_.size() <= kMaxFinished) return;
  auto oldest = finished_.end();
  for (auto at = finished_.begin(); at != finished_.end(); ++at) {
    if (at->settled && (oldest == finished_.end() || at->submitted_at < oldest->submitted_at)) oldest = at;
  }
  check(oldest != finished_.end(), "whoever begins a job sees to it that its end can be remembered");
  horizon_ = std::max(horizon_, oldest->submitted_at);
  finished_.erase(oldest);
}

}  // namespace bellwether::context_lead
