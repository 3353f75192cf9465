// Frames on a byte stream: a length of four bytes, big-endian, then that number of bytes (the length does not count
// itself). An empty frame is refused, and so is one above the limit, before any of it is stored.
//
// The decoder owns no buffer: it looks at the bytes that a caller has collected, and returns how many more it needs. So
// its limit bounds the memory of an unfinished frame, and the caller's timeout bounds its duration.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cluster/wire/crypto.h"
#include "cluster/wire/refusal.h"
#include "core/base/bytes.h"

namespace bellwether::wire {

inline constexpr std::size_t kLengthBytes = 4;
inline constexpr std::size_t kMaxFrame = 1024 * 1024;  // default limit of one frame's bytes

struct FrameCut {
  enum class Kind : uint8_t { kFrame, kMore, kRefused };
  Kind kind = Kind::kMore;
  Refusal refusal = Refusal::kNone;  // kRefused only: kGarbage for a length of zero, kOversized
  std::size_t consumed = 0;          // kFrame: bytes to take off the front, the length included
  std::size_t needed = 0;            // kMore: bytes in all, from the front, before asking again makes sense
};

// Looks for one whole frame at the front of `bytes`; its payload follows the length.
FrameCut cut_frame(Bytes bytes, std::size_t limit = kMaxFrame);

inline Bytes frame_payload(Bytes bytes, const FrameCut& cut) {
  return bytes.subspan(kLengthBytes, cut.consumed - kLengthBytes);
}
inline MutableBytes frame_payload(MutableBytes bytes, const FrameCut& cut) {
  return bytes.subspan(kLengthBytes, cut.consumed - kLengthBytes);
}

// The frames of an established connection: a length of four bytes, big-endian, which is authenticated, the sealed text,
// and the tag. Each direction has a separate key, made for this connection from the secret, the random values of both
// ends, and all that they said of themselves. The nonce is the number of the frame in its direction, which is not sent.
// So a frame that was changed, left out, repeated, moved, or taken from another connection does not open.

inline constexpr std::size_t kStreamOverhead = kLengthBytes + kTagBytes;
// The most that a frame of an established connection carries. A bigger message goes in pieces, between which a more
// urgent one finds its place.
inline constexpr std::size_t kMaxStreamText = 16 * 1024 + 64;
inline constexpr std::size_t kMaxStreamFrame = kMaxStreamText + kTagBytes;  // without the length

class StreamSealer {
 public:
  explicit StreamSealer(const Key& key) : aead_(Aead::Direction::kSeal, key) {}
  // `frame` is the whole of it; the text lies behind the room for the length, and before that for the tag.
  void seal(MutableBytes frame);

 private:
  Aead aead_;
  uint64_t next_ = 0;
};

class StreamOpener {
 public:
  explicit StreamOpener(const Key& key) : aead_(Aead::Direction::kOpen, key) {}
  // Opens a whole frame in place, its length included, and gives its text. Nothing when it is forged: the connection is
  // of no use any more.
  [[nodiscard]] bool open(MutableBytes frame, MutableBytes& text);

 private:
  Aead aead_;
  uint64_t next_ = 0;
};

}  // namespace bellwether::wire
