// Frames on a byte stream: a length of four bytes, big-endian, then so many bytes (the length does not count itself).
// A frame of no bytes is refused, and so is one above the limit, before any of it is stored.
//
// The decoder owns no buffer: it looks at the bytes that a caller has collected, and says how many more it needs. So
// what an unfinished frame can hold is bounded by its limit, and the caller's timeout bounds for how long.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cluster/wire/refusal.h"
#include "core/base/bytes.h"

namespace bellwether::wire {

inline constexpr std::size_t kLengthBytes = 4;
inline constexpr std::size_t kFrameMax = 1024 * 1024;  // default limit of one frame's bytes

struct FrameCut {
  enum class Kind : uint8_t { kFrame, kMore, kRefused };
  Kind kind = Kind::kMore;
  Refusal refusal = Refusal::kNone;  // kRefused only: kGarbage for a length of zero, kOversized
  std::size_t consumed = 0;          // kFrame: bytes to take off the front, the length included
  std::size_t needed = 0;            // kMore: bytes in all, from the front, before asking again makes sense
};

// Looks for one whole frame at the front of `bytes`; its payload is what follows the length.
FrameCut cut_frame(Bytes bytes, std::size_t limit = kFrameMax);

inline Bytes frame_payload(Bytes bytes, const FrameCut& cut) {
  return bytes.subspan(kLengthBytes, cut.consumed - kLengthBytes);
}
inline MutableBytes frame_payload(MutableBytes bytes, const FrameCut& cut) {
  return bytes.subspan(kLengthBytes, cut.consumed - kLengthBytes);
}

}  // namespace bellwether::wire
