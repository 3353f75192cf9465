// The codings of a body: chunked, and compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/http1/head.h"

namespace bellwether::http1 {

// Chunked transfer coding (RFC 9112 §7.1), decoded in place and in any pieces.
class ChunkedDecoder {
 public:
  static constexpr std::size_t kMaxLine = 4 * 1024;       // a chunk-size line with its extensions
  static constexpr std::size_t kMaxTrailers = 64 * 1024;  // all trailer fields

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

// Content encodings: gzip, deflate (with or without its zlib wrapper), brotli and zstd. A decoder is reused. Its output
// is bounded, so that a small body cannot unfold into all of memory.
class Decoder {
 public:
  Decoder();
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Starts a new body. REQUIRES an encoding that is known, and not identity.
  void reset(Encoding encoding);
  // Appends the decoded `input`. kOk; kProtocol when it is broken; kTooLarge when `out` would pass `out_max`.
  Errc feed(std::string_view input, std::string& out, std::size_t out_max);
  // After the last byte: kOk when the encoding is complete, else kProtocol.
  Errc finish() const;

 private:
  struct Zlib;
  struct Brotli;
  struct Zstd;
  Errc feed_zlib(std::string_view input, std::string& out, std::size_t out_max);
  Errc feed_brotli(std::string_view input, std::string& out, std::size_t out_max);
  Errc feed_zstd(std::string_view input, std::string& out, std::size_t out_max);

  Encoding encoding_ = Encoding::kIdentity;
  bool complete_ = false;
  std::unique_ptr<Zlib> zlib_;
  std::unique_ptr<Brotli> brotli_;
  std::unique_ptr<Zstd> zstd_;
};

}  // namespace bellwether::http1
