// All requests of a cluster as one value in the register, which only the leader may write. The next leader begins with
// it, so every confirmed write survives any leader.
//
// The queue has no payloads. A majority stores each one under the id of its request (cluster/register) before the queue
// names it, and drops it after the queue shows it as finished; so a write is small for requests of any size.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "election/context/canonical.h"
#include "election/epoch.h"
#include "election/vote/vote_events.h"

namespace bellwether::context_lead {

// A generation request and its life:
//
//   submitted  its payload is on a majority, and the register has the queue that names it: only now is it acknowledged
//   queued     waits for its turn: the highest priority first, of equals the first accepted one
//   active     an attempt runs under a fence that the register knew before the attempt began
//   completed, failed   written into the register under the fence of the attempt, once
//
// If an attempt ends without a result because its leader ended, the request is queued again.

using election::Epoch;

inline constexpr std::size_t kMaxPayloadBytes = 64 * 1024;
inline constexpr std::size_t kMaxRequests = 1000;  // queued and active
inline constexpr std::size_t kMaxFinished = 200;   // that are remembered
inline constexpr std::size_t kMaxReasonBytes = 64;

// A random id from the submitter. It reuses the id to submit the same request again after no answer, and never for
// another request. All zero: none.
struct RequestId {
  uint64_t high = 0;
  uint64_t low = 0;
  constexpr auto operator<=>(const RequestId&) const = default;
};
// 32 hexadecimal digits.
std::string to_string(RequestId id);
// Of any kind of id. kInvalid.
Result<RequestId> parse_request_id(std::string_view text);

// The ids of submitters: UUIDs of version 7 (RFC 9562), without dashes. They contain the time of their creation, so
// that a resubmitted request keeps its known age. `chance`: 74 bits of it count.
RequestId draw_request_id(WallTime now, uint64_t chance, uint64_t more_chance);
// When it was drawn, to the millisecond; nothing of an id of another kind.
std::optional<WallTime> time_of(RequestId id);

struct Request {
  RequestId id;
  uint8_t priority = 0;   // higher goes first
  WallTime submitted_at;  // by the submitter's clock
  std::string payload;
};

// Identifies an attempt at a request: of two, the greater is that of the later leader, or the later one of the same
// leader. It travels with the job, and each resource that the job uses can refuse a lower one than it has seen.
struct AttemptFence {
  Epoch epoch;
  uint32_t attempt = 0;  // counts all attempts at the request, over all leaders
  constexpr auto operator<=>(const AttemptFence&) const = default;
};
constexpr bool in_order(AttemptFence offered, AttemptFence known) { return offered >= known; }
std::string to_string(AttemptFence fence);

enum class Outcome : uint8_t { kCompleted, kFailed };

using vote::NodeId;

// The largest encoded queue; a register of 64 KiB has room for it.
inline constexpr std::size_t kMaxQueueBytes = 62 * 1024;

// Queued or active.
struct LiveRequest {
  RequestId id;
  uint8_t priority = 0;
  uint8_t failures = 0;  // attempts that ended by themselves without success
  uint32_t attempts = 0;
  Epoch active_under;  // of the attempt that runs, which is the last one; 0: queued
  WallTime submitted_at;

  bool is_active() const { return active_under != Epoch(); }
  AttemptFence fence() const { return {active_under, attempts}; }
  bool operator==(const LiveRequest&) const = default;
};

struct FinishedRequest {
  RequestId id;
  Outcome outcome = Outcome::kCompleted;
  bool settled = false;  // its end was reported, and its payload is dropped
  AttemptFence fence;    // of the attempt that counts
  WallTime submitted_at;
  std::string reason;  // of a failure; at most kMaxReasonBytes
  bool operator==(const FinishedRequest&) const = default;
};

// As bytes (canonical.h).
auto parts(Is<RequestId> auto& one) { return std::tie(one.high, one.low); }
auto parts(Is<AttemptFence> auto& one) { return std::tie(one.epoch, one.attempt); }
auto parts(Is<LiveRequest> auto& one) {
  return std::tie(one.id, one.priority, one.failures, one.attempts, one.active_under, one.submitted_at);
}
auto parts(Is<FinishedRequest> auto& one) {
  return std::tie(one.id, one.outcome, one.settled, one.fence, one.submitted_at, one.reason);
}
inline bool is_sound(const FinishedRequest& one) {
  return one.outcome <= Outcome::kFailed && one.reason.size() <= kMaxReasonBytes;
}

class RequestQueue {
 public:
  // Decodes the register's value; an empty text is an empty queue. kUnsupported: a newer program wrote it. kInvalid,
  // with the fault: this program cannot have written it.
  static Result<RequestQueue> decode(std::string_view bytes);
  // At most kMaxQueueBytes. Equal queues have equal bytes.
  std::string encode() const;

  // A leader begins, and queues the running requests of earlier leaders again. REQUIRES an epoch not below the known
  // one.
  void open(NodeId leader, Epoch epoch);

  enum class State : uint8_t {
    kUnknown,    // may be admitted
    kLive,       // queued or active
    kFinished,   // and remembered
    kForgotten,  // perhaps finished, too long ago to know
  };
  State state(RequestId id, WallTime submitted_at) const;
  // REQUIRES kUnknown, and room.
  void admit(const Request& request);
  std::size_t room(std::size_t most) const { return live_.size() < most ? most - live_.size() : 0; }

  // The next one of those that are queued; nullptr: none.
  const LiveRequest* next() const;
  const LiveRequest* find(RequestId id) const;
  const FinishedRequest* find_finished(RequestId id) const;
  // An attempt at a queued request begins.
  AttemptFence start(RequestId id);
  // The attempt ends without a result, and the request keeps its place in the queue. False: not the running attempt.
  bool requeue(RequestId id, AttemptFence fence, bool failed);
  // The attempt ends the request. False: not the running attempt, and nothing changes. REQUIRES room_to_finish().
  bool finish(RequestId id, AttemptFence fence, Outcome outcome, std::string reason);
  // A finished request is remembered until it is settled: a job begins only while its end will also have room.
  bool room_to_finish(std::size_t active) const;
  void mark_settled(RequestId id);

  NodeId leader() const { return leader_; }
  Epoch epoch() const { return epoch_; }
  uint64_t terms() const { return terms_; }          // terms in which a leader began
  uint64_t completed() const { return completed_; }  // ever
  uint64_t failed() const { return failed_; }
  const std::vector<LiveRequest>& live() const { return live_; }  // in the order of their acceptance
  const std::vector<FinishedRequest>& finished() const { return finished_; }
  bool operator==(const RequestQueue&) const = default;

 private:
  void forget();

  NodeId leader_;
  Epoch epoch_;
  uint64_t terms_ = 0;
  uint64_t completed_ = 0;
  uint64_t failed_ = 0;
  // Requests submitted up to here may have been finished and forgotten; all later ones are known.
  WallTime horizon_{INT64_MIN};
  std::vector<LiveRequest> live_;
  std::vector<FinishedRequest> finished_;
};

}  // namespace bellwether::context_lead
