// Decodes arbitrary bytes as gzip, deflate, brotli and zstd, whole and in pieces: the same text, within its limit.
//
// The input: a byte that chooses the coding, a byte that chooses the pieces, the body.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/http1/body_coding.h"
#include "core/http1/split_testing.h"

namespace bellwether::http1 {
namespace {

constexpr std::size_t kLimit = 50'000;

struct Decoded {
  bool good = false;
  std::string text;
};

Decoded decode(Decoder& decoder, Encoding encoding, std::string_view body, const std::vector<std::size_t>& pieces) {
  Decoded out;
  decoder.reset(encoding);
  Errc error = Errc::kOk;
  for (const std::size_t size : pieces) {
    error = decoder.feed(body.substr(0, size), out.text, kLimit);
    if (error != Errc::kOk) break;
    check(out.text.size() <= kLimit, "the limit holds");
    body.remove_prefix(size);
  }
  check(error == Errc::kOk || error == Errc::kProtocol || error == Errc::kTooLarge, "one of three outcomes");
  out.good = error == Errc::kOk && decoder.finish() == Errc::kOk;
  return out;
}

}  // namespace
}  // namespace bellwether::http1

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether::http1;
  if (size < 3) return 0;
  constexpr Encoding kEncodings[] = {Encoding::kGzip, Encoding::kDeflate, Encoding::kBrotli, Encoding::kZstd};
  const Encoding encoding = kEncodings[data[0] % 4];
  const std::string_view body(reinterpret_cast<const char*>(data + 2), size - 2);
  static Decoder decoder;
  const Decoded whole = decode(decoder, encoding, body, {body.size()});
  const Decoded split = decode(decoder, encoding, body, piece_sizes(body.size(), data[1]));
  bellwether::check(whole.good == split.good, "whether a body is broken does not depend on the pieces");
  bellwether::check(!whole.good || whole.text == split.text, "the text does not depend on the pieces");
  return 0;
}
