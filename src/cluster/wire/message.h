// What a frame of an established connection holds: a message, or a piece of one.
//
//   offset  bytes
//    0       1    kind, see Kind
//    1       1    bits 0 and 1: priority; bit 2: more pieces follow; bit 3: the body is compressed; the rest is 0
//    2       2    type of a request or one-way message; status of a response; else 0
//    4       8    id: of a request, and of what refers to it; else 0
//   12       4    milliseconds that a request still has, 0: no limit; else 0
//   16       n    body
//
// All numbers are big-endian. A header of its own, and not a protobuf message around the body, because it is read for
// every message, and a lease must not wait for a parser; what may grow with versions is in the body and in the hello.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"

namespace bellwether::wire {

inline constexpr std::size_t kMessageHeaderBytes = 16;

// Whatever is waiting in one class is sent before anything of the classes below it.
enum class Priority : uint8_t {
  kLeadership,  // votes, leases, keep-alive
  kControl,     // dispatch, cancellation, membership
  kNormal,      // queries, progress
  kBulk,        // state transfers, statistics, reports
};
inline constexpr std::size_t kPriorities = 4;

enum class ReplyStatus : uint16_t {
  kOk = 0,
  kFailed = 1,        // the one who was asked says why, in the body, as text
  kBusy = 2,          // too much is under way there; asking again later may work
  kUnknownType = 3,   // a message that the other end does not know
  kNotPermitted = 4,  // not for this role
  kParcel = 5,        // too large for a message: the body says how it is fetched (cluster/net/parcels.h)
};

struct MessageHeader {
  enum class Kind : uint8_t {
    kRequest = 1,
    kResponse = 2,
    kOneWay = 3,
    kCancel = 4,  // the answer to this request is not wanted any more
    kPing = 5,    // asks for a pong
    kPong = 6,
    kGoodbye = 7,  // no new requests, please: this end is about to close
    kPiece = 8,    // goes on with the unfinished message of this priority
  };
  Kind kind = Kind::kPing;
  Priority priority = Priority::kLeadership;
  bool more = false;
  bool compressed = false;
  uint16_t type = 0;
  uint64_t id = 0;
  uint32_t timeout_ms = 0;
};

void encode_message_header(const MessageHeader& header, std::byte* to);
// False: no header of ours. REQUIRES 16 bytes.
[[nodiscard]] bool decode_message_header(const std::byte* from, MessageHeader& header);

}  // namespace bellwether::wire
