// Content encodings: gzip, deflate (with or without its zlib wrapper), brotli and zstd. A decoder is reused; what it
// gives out is bounded, so that a small body cannot unfold into all of memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/http1/response_head.h"

namespace bellwether::http1 {

class Decoder {
 public:
  Decoder();
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Starts a new body. REQUIRES an encoding that is known, and not identity.
  void reset(Encoding encoding);
  // Appends what `input` decodes to. kOk; kProtocol when it is broken; kTooLarge when `out` would pass `out_max`.
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
