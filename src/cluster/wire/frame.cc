#include "cluster/wire/frame.h"

#include "cluster/wire/big_endian.h"

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

}  // namespace bellwether::wire
