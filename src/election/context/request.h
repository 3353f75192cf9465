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
#include <string>

#include "base/time.h"
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
