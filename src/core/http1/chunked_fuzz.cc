// Decodes arbitrary bytes as chunks, whole and in pieces: the same bytes, the same end.
//
// The input: a byte that chooses the pieces, the coding.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/check.h"
#include "core/http1/body_coding.h"
#include "core/http1/split_testing.h"

namespace bellwether::http1 {
namespace {

struct Decoded {
  Parse state = Parse::kMore;
  std::size_t consumed = 0;
  std::string body;
  bool operator==(const Decoded&) const = default;
};

Decoded decode(const std::string& coding, const std::vector<std::size_t>& pieces) {
  ChunkedDecoder decoder;
  Decoded out;
  for (const std::size_t size : pieces) {
    std::string piece = coding.substr(out.consumed, size);
    const auto step = decoder.decode(piece.data(), piece.size());
    check(step.produced <= step.consumed && step.consumed <= size, "a body is shorter than its coding");
    check(step.state != Parse::kMore || step.consumed == size, "everything is consumed before more is asked for");
    out.state = step.state;
    out.consumed += step.consumed;
    out.body.append(piece, 0, step.produced);
    if (out.state != Parse::kMore) break;
  }
  return out;
}

}  // namespace
}  // namespace bellwether::http1

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether::http1;
  if (size < 2) return 0;
  const std::string coding(reinterpret_cast<const char*>(data + 1), size - 1);
  const bool same = decode(coding, {coding.size()}) == decode(coding, piece_sizes(coding.size(), data[0]));
  bellwether::check(same, "the body does not depend on the pieces");
  return 0;
}
