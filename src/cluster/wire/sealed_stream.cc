#include "cluster/wire/sealed_stream.h"

#include "cluster/wire/big_endian.h"
#include "core/base/check.h"

namespace bellwether::wire {

void StreamSealer::seal(MutableBytes frame) {
  check(frame.size() > kStreamOverhead && frame.size() <= kLengthBytes + kStreamFrameMax, "a frame has a text");
  store_be(frame.data(), static_cast<uint32_t>(frame.size() - kLengthBytes));
  const MutableBytes text = frame.subspan(kLengthBytes, frame.size() - kStreamOverhead);
  aead_.seal(next_++, frame.first(kLengthBytes), text, frame.last<kTagBytes>());
}

bool StreamOpener::open(MutableBytes frame, MutableBytes& text) {
  if (frame.size() <= kStreamOverhead) return false;
  text = frame.subspan(kLengthBytes, frame.size() - kStreamOverhead);
  return aead_.open(next_++, frame.first(kLengthBytes), text, frame.last<kTagBytes>());
}

}  // namespace bellwether::wire
