// The frames of an established connection: a length of four bytes, big-endian, which is authenticated, the sealed text,
// and the tag. Each direction has a key of its own, made for this connection from the secret, what both ends drew, and
// everything that they said of themselves; the nonce is the number of the frame in its direction, which is not sent. So
// a frame that was changed, left out, repeated, moved, or taken from another connection does not open.
#pragma once

#include <cstdint>

#include "cluster/wire/crypto.h"
#include "cluster/wire/frame.h"
#include "core/base/bytes.h"

namespace bellwether::wire {

inline constexpr std::size_t kStreamOverhead = kLengthBytes + kTagBytes;
// The most that a frame of an established connection carries. A bigger message goes in pieces, between which a more
// urgent one finds its place.
inline constexpr std::size_t kStreamTextMax = 16 * 1024 + 64;
inline constexpr std::size_t kStreamFrameMax = kStreamTextMax + kTagBytes;  // without the length

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
