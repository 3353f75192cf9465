#include "core/http1/decode.h"

#include <brotli/decode.h>
#include <zlib.h>
#include <zstd.h>

#include "core/base/check.h"

namespace bellwether::http1 {
namespace {

constexpr std::size_t kPiece = 16 * 1024;
constexpr int kZstdWindowLog = 23;  // what may be asked of a client (RFC 9659)

// Grows `out` by a piece to write into, within the limit plus one byte, so that passing the limit shows.
std::size_t make_room(std::string& out, std::size_t out_max) {
  const std::size_t before = out.size();
  const std::size_t room = out_max - before < kPiece ? out_max - before + 1 : kPiece;
  out.resize(before + room);
  return room;
}

}  // namespace

struct Decoder::Zlib {
  z_stream stream{};
  bool ready = false;
  ~Zlib() {
    if (ready) inflateEnd(&stream);
  }
};

struct Decoder::Brotli {
  BrotliDecoderState* state = nullptr;
  ~Brotli() { BrotliDecoderDestroyInstance(state); }
};

struct Decoder::Zstd {
  ZSTD_DCtx* context = nullptr;
  ~Zstd() { ZSTD_freeDCtx(context); }
};

Decoder::Decoder() = default;
Decoder::~Decoder() = default;

void Decoder::reset(Encoding encoding) {
  encoding_ = encoding;
  complete_ = false;
  if (encoding == Encoding::kBrotli) {
    brotli_ = std::make_unique<Brotli>();
    brotli_->state = BrotliDecoderCreateInstance(nullptr, nullptr, nullptr);
    return;
  }
  if (encoding == Encoding::kZstd) {
    if (zstd_ == nullptr) {
      zstd_ = std::make_unique<Zstd>();
      zstd_->context = ZSTD_createDCtx();
      check(zstd_->context != nullptr, "zstd starts");
      ZSTD_DCtx_setParameter(zstd_->context, ZSTD_d_windowLogMax, kZstdWindowLog);
    }
    ZSTD_DCtx_reset(zstd_->context, ZSTD_reset_session_only);
    return;
  }
  check(encoding == Encoding::kGzip || encoding == Encoding::kDeflate);
  if (zlib_ == nullptr) zlib_ = std::make_unique<Zlib>();
  const int window = encoding == Encoding::kGzip ? 16 + MAX_WBITS : MAX_WBITS;
  const int result = zlib_->ready ? inflateReset2(&zlib_->stream, window) : inflateInit2(&zlib_->stream, window);
  check(result == Z_OK, "zlib starts");
  zlib_->ready = true;
}

Errc Decoder::feed(std::string_view input, std::string& out, std::size_t out_max) {
  if (out.size() > out_max) return Errc::kTooLarge;
  if (encoding_ == Encoding::kBrotli) return feed_brotli(input, out, out_max);
  return encoding_ == Encoding::kZstd ? feed_zstd(input, out, out_max) : feed_zlib(input, out, out_max);
}

Errc Decoder::feed_zlib(std::string_view input, std::string& out, std::size_t out_max) {
  z_stream& stream = zlib_->stream;
  // Servers disagree on what deflate means; a first byte that is no zlib header means the bare format.
  if (encoding_ == Encoding::kDeflate && stream.total_in == 0 && !input.empty() && (input[0] & 0x0f) != 8) {
    inflateReset2(&stream, -MAX_WBITS);
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
  stream.avail_in = static_cast<uInt>(input.size());
  while (stream.avail_in > 0 || !complete_) {
    if (complete_) {
      // A gzip body may have several members; anything else behind the end is garbage.
      if (encoding_ != Encoding::kGzip || inflateReset(&stream) != Z_OK) return Errc::kProtocol;
      complete_ = false;
    }
    const std::size_t before = out.size();
    const std::size_t room = make_room(out, out_max);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    out.resize(before + room - stream.avail_out);
    if (out.size() > out_max) return Errc::kTooLarge;
    if (result == Z_STREAM_END) {
      complete_ = true;
      continue;
    }
    if (result == Z_BUF_ERROR && stream.avail_in == 0) break;  // needs more input
    if (result != Z_OK) return Errc::kProtocol;
    if (stream.avail_in == 0 && stream.avail_out > 0) break;
  }
  return Errc::kOk;
}

Errc Decoder::feed_brotli(std::string_view input, std::string& out, std::size_t out_max) {
  if (complete_) return input.empty() ? Errc::kOk : Errc::kProtocol;
  const auto* next_in = reinterpret_cast<const uint8_t*>(input.data());
  std::size_t left_in = input.size();
  while (true) {
    const std::size_t before = out.size();
    const std::size_t room = make_room(out, out_max);
    auto* next_out = reinterpret_cast<uint8_t*>(out.data() + before);
    std::size_t left_out = room;
    const auto result =
        BrotliDecoderDecompressStream(brotli_->state, &left_in, &next_in, &left_out, &next_out, nullptr);
    out.resize(before + room - left_out);
    if (out.size() > out_max) return Errc::kTooLarge;
    if (result == BROTLI_DECODER_RESULT_ERROR) return Errc::kProtocol;
    if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT) return Errc::kOk;
    if (result == BROTLI_DECODER_RESULT_SUCCESS) {
      complete_ = true;
      return left_in == 0 ? Errc::kOk : Errc::kProtocol;
    }
  }
}

// A body may have several frames; it is complete between them.
Errc Decoder::feed_zstd(std::string_view input, std::string& out, std::size_t out_max) {
  ZSTD_inBuffer in{input.data(), input.size(), 0};
  bool full = true;
  while (in.pos < in.size || full) {
    if (in.pos == in.size && complete_) break;
    const std::size_t before = out.size();
    const std::size_t room = make_room(out, out_max);
    ZSTD_outBuffer to{out.data() + before, room, 0};
    const std::size_t left = ZSTD_decompressStream(zstd_->context, &to, &in);
    out.resize(before + to.pos);
    if (out.size() > out_max) return Errc::kTooLarge;
    if (ZSTD_isError(left) != 0) return Errc::kProtocol;
    complete_ = left == 0;
    full = to.pos == room;
  }
  return Errc::kOk;
}

Errc Decoder::finish() const { return complete_ ? Errc::kOk : Errc::kProtocol; }

}  // namespace bellwether::http1
