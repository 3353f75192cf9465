// Chunked transfer coding (RFC 9112 §7.1), decoded in place and in any pieces.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/http1/response_head.h"

namespace bellwether::http1 {

class ChunkedDecoder {
 public:
  static constexpr std::size_t kLineMax = 4 * 1024;       // a chunk-size line with its extensions
  static constexpr std::size_t kTrailersMax = 64 * 1024;  // all trailer fields

  void reset() { *this = ChunkedDecoder(); }

  struct Step {
    Parse state;           // kMore: all bytes were consumed and more are needed; kDone: the body has ended
    std::size_t consumed;  // bytes of the coding
    std::size_t produced;  // bytes of the body, moved to the front of `data`
  };
  Step decode(char* data, std::size_t size);

 private:
  enum class State : uint8_t {
    kSize,
    kExtension,
    kSizeEnd,
    kData,
    kDataCr,
    kDataLf,
    kTrailer,
    kTrailerLine,
    kTrailerEnd
  };
  Parse size_line(char c);
  Parse trailer(char c);

  State state_ = State::kSize;
  uint8_t digits_ = 0;
  uint64_t left_ = 0;     // of the present chunk
  std::size_t line_ = 0;  // bytes of the present size line, or of all trailers
};

}  // namespace bellwether::http1
