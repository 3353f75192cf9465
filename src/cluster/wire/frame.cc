#include "cluster/wire/frame.h"

#include "cluster/wire/big_endian.h"
#include "core/base/check.h"

namespace bellwether::wire {

FrameCut cut_frame(Bytes bytes, std::size_t limit) {
  if (bytes.size() < kLengthBytes) return {.kind = FrameCut::Kind::kMore, .needed = kLengthBytes};
  const std::size_t length = load_be<uint32_t>(bytes.data());
  if (length == 0) return {.kind = FrameCut::Kind::kRefused, .refusal = Refusal::kGarbage};
  if (length > limit) return {.kind = FrameCut::Kind::kRefused, .refusal = Refusal::kOversized};
  const std::size_t whole = kLengthBytes + length;
  if (bytes.size() < whole) return {.kind = FrameCut::Kind::kMore, .needed = whole};
  return {.kind = FrameCut::Kind::kFrame, .consumed = whole};
}

void StreamSealer::seal(MutableBytes frame) {
  check(frame.size() > kStreamOverhead && frame.size() <= kLengthBytes + kMaxStreamFrame, "a frame has a text");
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
