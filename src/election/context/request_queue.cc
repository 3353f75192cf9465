#include "election/context/request_queue.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "election/context/canonical.h"

namespace bellwether::context_lead {
namespace {

constexpr std::string_view kQueueMagic = "BWCQ";
constexpr uint8_t kVersion = 1;
constexpr std::size_t kHeadBytes = 4 + 1 + 6 * 8 + 2 * 4;
constexpr std::size_t kLiveBytes = 16 + 1 + 1 + 4 + 8 + 8;
constexpr std::size_t kFinishedBytes = 16 + 1 + 1 + 8 + 4 + 8 + 4 + kMostReasonBytes;
static_assert(kHeadBytes + kMostRequests * kLiveBytes + kMostFinished * kFinishedBytes <= kMostQueueBytes);

void put_id(CanonicalWriter& out, RequestId id) {
  out.u64(id.high);
  out.u64(id.low);
}
RequestId get_id(CanonicalReader& in) {
  const uint64_t high = in.u64();
  return {high, in.u64()};
}

LiveRequest get_live(CanonicalReader& in) {
  LiveRequest one;
  one.id = get_id(in);
  one.priority = in.u8();
  one.failures = in.u8();
  one.attempts = in.u32();
  one.active_under = Epoch(in.u64());
  one.submitted_at = in.wall();
  return one;
}

FinishedRequest get_finished(CanonicalReader& in) {
  FinishedRequest one;
  one.id = get_id(in);
  const uint8_t outcome = in.u8();
  if (outcome > static_cast<uint8_t>(Outcome::kFailed)) in.fail();
  one.outcome = static_cast<Outcome>(outcome);
  one.settled = in.flag();
  one.fence.epoch = Epoch(in.u64());
  one.fence.attempt = in.u32();
  one.submitted_at = in.wall();
  one.reason = in.text(kMostReasonBytes);
  return one;
}

}  // namespace

Result<RequestQueue> RequestQueue::decode(std::string_view bytes) {
  RequestQueue queue;
  if (bytes.empty()) return queue;
  const auto wrong = [](std::string what) {
    return fail(Errc::kInvalid, "the queue of requests in the register: " + std::move(what) +
                                    "; expected what a leader has written. Look who else writes to its key");
  };
  if (bytes.size() > kMostQueueBytes) return wrong("larger than any queue");
  CanonicalReader in(bytes);
  if (in.raw(kQueueMagic.size()) != kQueueMagic) return wrong("does not begin as one");
  if (const uint8_t version = in.u8(); version != kVersion) {
    return fail(Errc::kUnsupported, "the queue of requests in the register has version " + std::to_string(version) +
                                        "; this program knows " + std::to_string(kVersion) + ". Update this node");
  }
  queue.leader_ = NodeId(in.u64());
  queue.epoch_ = Epoch(in.u64());
  queue.terms_ = in.u64();
  queue.completed_ = in.u64();
  queue.failed_ = in.u64();
  queue.horizon_ = in.wall();
  std::set<RequestId> ids;
  for (std::size_t left = in.count(kMostRequests); left > 0 && in.ok(); --left) {
    const LiveRequest one = get_live(in);
    if (one.active_under > queue.epoch_ || (one.is_active() && one.attempts == 0)) return wrong("an attempt of nobody");
    if (!ids.insert(one.id).second) return wrong("request " + to_string(one.id) + " twice");
    queue.live_.push_back(one);
  }
  for (std::size_t left = in.count(kMostFinished); left > 0 && in.ok(); --left) {
    FinishedRequest one = get_finished(in);
    if (!ids.insert(one.id).second) return wrong("request " + to_string(one.id) + " twice");
    queue.finished_.push_back(std::move(one));
  }
  if (!in.ok() || !in.at_end()) return wrong("cut short, too long, or with a value out of bounds");
  return queue;
}

std::string RequestQueue::encode() const {
  CanonicalWriter out;
  out.raw(kQueueMagic);
  out.u8(kVersion);
  for (const uint64_t number : {leader_.value(), epoch_.value(), terms_, completed_, failed_}) out.u64(number);
  out.wall(horizon_);
  out.u32(static_cast<uint32_t>(live_.size()));
  for (const LiveRequest& one : live_) {
    put_id(out, one.id);
    out.u8(one.priority);
    out.u8(one.failures);
    out.u32(one.attempts);
    out.u64(one.active_under.value());
    out.wall(one.submitted_at);
  }
  out.u32(static_cast<uint32_t>(finished_.size()));
  for (const FinishedRequest& one : finished_) {
    put_id(out, one.id);
    out.u8(static_cast<uint8_t>(one.outcome));
    out.flag(one.settled);
    out.u64(one.fence.epoch.value());
    out.u32(one.fence.attempt);
    out.wall(one.submitted_at);
    out.text(one.reason);
  }
  return out.take();
}

void RequestQueue::open(NodeId leader, Epoch epoch) {
  check(epoch >= epoch_, "no leader begins under the epoch of an earlier one");
  if (epoch != epoch_) ++terms_;
  leader_ = leader;
  epoch_ = epoch;
  for (LiveRequest& one : live_) one.active_under = Epoch();
}

RequestQueue::Standing RequestQueue::standing(RequestId id, WallTime submitted_at) const {
  if (find(id) != nullptr) return Standing::kLive;
  if (find_finished(id) != nullptr) return Standing::kFinished;
  return submitted_at <= horizon_ ? Standing::kForgotten : Standing::kUnknown;
}

void RequestQueue::admit(const Request& request) {
  check(standing(request.id, request.submitted_at) == Standing::kUnknown, "a request is admitted once");
  check(live_.size() < kMostRequests, "the queue has an end");
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

LiveRequest* RequestQueue::find_live(RequestId id) {
  const auto at = std::find_if(live_.begin(), live_.end(), [&](const LiveRequest& one) { return one.id == id; });
  return at == live_.end() ? nullptr : &*at;
}

const LiveRequest* RequestQueue::find(RequestId id) const {
  const auto at = std::find_if(live_.begin(), live_.end(), [&](const LiveRequest& one) { return one.id == id; });
  return at == live_.end() ? nullptr : &*at;
}

const FinishedRequest* RequestQueue::find_finished(RequestId id) const {
  const auto at =
      std::find_if(finished_.begin(), finished_.end(), [&](const FinishedRequest& one) { return one.id == id; });
  return at == finished_.end() ? nullptr : &*at;
}

AttemptFence RequestQueue::start(RequestId id) {
  LiveRequest* one = find_live(id);
  check(one != nullptr && !one->is_active() && epoch_ != Epoch(), "an attempt begins at a queued request");
  ++one->attempts;
  one->active_under = epoch_;
  return one->fence();
}

bool RequestQueue::requeue(RequestId id, AttemptFence fence, bool failed) {
  LiveRequest* one = find_live(id);
  if (one == nullptr || !one->is_active() || one->fence() != fence) return false;
  one->active_under = Epoch();
  if (failed) ++one->failures;
  return true;
}

bool RequestQueue::finish(RequestId id, AttemptFence fence, Outcome outcome, std::string reason) {
  const LiveRequest* one = find(id);
  if (one == nullptr || !one->is_active() || one->fence() != fence) return false;
  if (reason.size() > kMostReasonBytes) reason.resize(kMostReasonBytes);
  finished_.push_back({id, outcome, false, fence, one->submitted_at, std::move(reason)});
  live_.erase(live_.begin() + (one - live_.data()));
  ++(outcome == Outcome::kCompleted ? completed_ : failed_);
  forget();
  return true;
}

bool RequestQueue::room_to_finish(std::size_t active) const {
  const auto unsettled =
      std::count_if(finished_.begin(), finished_.end(), [](const auto& one) { return !one.settled; });
  return static_cast<std::size_t>(unsettled) + active < kMostFinished;
}

void RequestQueue::mark_settled(RequestId id) {
  const auto at = std::find_if(finished_.begin(), finished_.end(), [&](const auto& one) { return one.id == id; });
  if (at != finished_.end()) at->settled = true;
}

// Of those that are settled the one that was submitted first, which keeps the horizon as far back as can be.
void RequestQueue::forget() {
  if (finished_.size() <= kMostFinished) return;
  auto oldest = finished_.end();
  for (auto at = finished_.begin(); at != finished_.end(); ++at) {
    if (at->settled && (oldest == finished_.end() || at->submitted_at < oldest->submitted_at)) oldest = at;
  }
  check(oldest != finished_.end(), "whoever begins a job sees to it that its end can be remembered");
  horizon_ = std::max(horizon_, oldest->submitted_at);
  finished_.erase(oldest);
}

}  // namespace bellwether::context_lead
