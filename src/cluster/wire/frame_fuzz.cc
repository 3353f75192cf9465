// Cuts frames out of arbitrary bytes, whole and as they come in pieces: the same frames, the same end; the decoder
// always asks for more than it has, and for no more than the limit.
//
// The input: a byte that chooses the size of the pieces, the stream.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/wire/frame.h"
#include "core/base/check.h"

namespace bellwether::wire {
namespace {

constexpr std::size_t kLimit = 4096;

struct Cuts {
  std::vector<std::string> frames;
  Refusal refusal = Refusal::kNone;
  bool operator==(const Cuts&) const = default;
};

Cuts cut(Bytes stream, std::size_t piece) {
  Cuts out;
  std::vector<std::byte> buffer;
  while (true) {
    const FrameCut next = cut_frame(buffer, kLimit);
    if (next.kind == FrameCut::Kind::kRefused) {
      out.refusal = next.refusal;
      return out;
    }
    if (next.kind == FrameCut::Kind::kFrame) {
      check(next.consumed > kLengthBytes && next.consumed <= buffer.size(), "a frame is there and has a text");
      out.frames.emplace_back(as_text(frame_payload(Bytes(buffer), next)));
      buffer.erase(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(next.consumed));
      continue;
    }
    check(next.needed > buffer.size() && next.needed <= kLengthBytes + kLimit, "more is needed, within the limit");
    if (stream.empty()) return out;
    const Bytes part = stream.first(std::min(piece, stream.size()));
    buffer.insert(buffer.end(), part.begin(), part.end());
    stream = stream.subspan(part.size());
  }
}

}  // namespace
}  // namespace bellwether::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;  // NOLINT(google-build-using-namespace)
  if (size < 1) return 0;
  const Bytes stream = std::as_bytes(std::span(data + 1, size - 1));
  check(wire::cut(stream, stream.size() + 1) == wire::cut(stream, std::size_t{data[0]} + 1),
        "pieces make no difference");
  return 0;
}
