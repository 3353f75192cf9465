// A generation request and its life:
//
//   submitted  its payload is on a majority, and the queue that names it is in the register: only now is it
//   acknowledged queued     waits for its turn: the highest priority first, of equals the one that was accepted first
//   active     an attempt runs under a fence that the register knew before the attempt began
//   completed, failed   written into the register under the fence of the attempt, once
//
// An attempt that ends without a result, because its leader did, makes the request queued again.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/time.h"
#include "election/epoch.h"

namespace bellwether::context_lead {

using election::Epoch;

inline constexpr std::size_t kMostPayloadBytes = 64 * 1024;
inline constexpr std::size_t kMostRequests = 1000;  // queued and active
inline constexpr std::size_t kMostFinished = 200;   // that are remembered
inline constexpr std::size_t kMostReasonBytes = 64;

// Drawn at random by the submitter, who gives the same id to the same request when it submits again because no answer
// came, and never to another one. All zero: none.
struct RequestId {
  uint64_t high = 0;
  uint64_t low = 0;
  constexpr auto operator<=>(const RequestId&) const = default;
};
// 32 hexadecimal digits.
std::string to_string(RequestId id);
// Of any kind of id. kInvalid.
Result<RequestId> parse_request_id(std::string_view text);

// As submitters draw them: UUIDs of version 7 (RFC 9562), without dashes. They hold the time at which they were drawn,
// so that a request which is submitted again is known for as old as it is. `chance`: 74 bits of it count.
RequestId draw_request_id(WallTime now, uint64_t chance, uint64_t more_chance);
// When it was drawn, to the millisecond; nothing of an id of another kind.
std::optional<WallTime> time_of(RequestId id);

struct Request {
  RequestId id;
  uint8_t priority = 0;   // higher goes first
  WallTime submitted_at;  // by the submitter's clock
  std::string payload;
};

// Which attempt at a request: of two the one of the later leader, of one leader the later one. It travels with the job,
// and whatever the job acts upon can refuse a lower one than it has seen.
struct AttemptFence {
  Epoch epoch;
  uint32_t attempt = 0;  // counts all attempts at the request, over all leaders
  constexpr auto operator<=>(const AttemptFence&) const = default;
};
constexpr bool in_order(AttemptFence offered, AttemptFence known) { return offered >= known; }
std::string to_string(AttemptFence fence);

enum class Outcome : uint8_t { kCompleted, kFailed };

}  // namespace bellwether::context_lead
