#include "core/http1/body_coding.h"

#include <brotli/decode.h>
#include <cstring>
#include <zlib.h>
#include <zstd.h>

#include "core/base/check.h"
#include "core/base/encoding.h"

namespace bellwether::http1 {

namespace {

constexpr std::size_t kPiece = 16 * 1024;
constexpr int kZstdWindowLog = 23;  // the limit for clients (RFC 9659)

// Grows `out` by a piece to write into, within the limit plus one byte, so that passing the limit shows.
std::size_t make_room(std::string& out, std::size_t out_max) {
  const std::size_t before = out.size();
  const std::size_t room = out_max - before < kPiece ? out_max - before + 1 : kPiece;
  out.resize(before + room);
  return room;
}

}  // namespace

ChunkedDecoder::Step ChunkedDecoder::decode(char* data, std::size_t size) {
  std::size_t at = 0;
  std::size_t produced = 0;
  while (at < size) {
    if (state_ == State::kData) {
      const std::size_t piece = size - at < left_ ? size - at : static_cast<std::size_t>(left_);
      if (at != produced) std::memmove(data + produced, data + at, piece);
      at += piece;
      produced += piece;
      left_ -= piece;
      if (left_ == 0) state_ = State::kDataCr;
      continue;
    }
    const char c = data[at++];
    Parse result = Parse::kMore;
    switch (state_) {
      case State::kDataCr:
        if (c == '\r') {
          state_ = State::kDataLf;
          break;
        }
        [[fallthrough]];
      case State::kDataLf:
        if (c != '\n') return {Parse::kBad, at, produced};
        state_ = State::kSize;
        digits_ = 0;
        line_ = 0;
        break;
      case State::kTrailer:
      case State::kTrailerLine:
      case State::kTrailerEnd: result = trailer(c); break;
      default: result = size_line(c); break;
    }
    if (result != Parse::kMore) return {result, at, produced};
  }
  return {Parse::kMore, at, produced};
}

Parse ChunkedDecoder::size_line(char c) {
  if (++line_ > kMaxLine) return Parse::kTooLarge;
  if (state_ == State::kSize) {
    if (const int digit = hex_digit(c); digit >= 0) {
      if (++digits_ > 15) return Parse::kTooLarge;
      left_ = (left_ << 4) | static_cast<uint64_t>(digit);
      return Parse::kMore;
    }
    if (digits_ == 0) return Parse::kBad;
    if (c == ';' || c == ' ' || c == '\t') {
      state_ = State::kExtension;
      return Parse::kMore;
    }
  }
  if (c == '\r' && state_ != State::kSizeEnd) {
    state_ = State::kSizeEnd;
    return Parse::kMore;
  }
  if (c == '\n') {
    state_ = left_ == 0 ? State::kTrailer : State::kData;
    line_ = 0;
    return Parse::kMore;
  }
  return state_ == State::kExtension ? Parse::kMore : Parse::kBad;
}

// Trailer fields are read over, and the empty line after them ends the body.
Parse ChunkedDecoder::trailer(char c) {
  if (++line_ > kMaxTrailers) return Parse::kTooLarge;
  if (c == '\n') {
    if (state_ != State::kTrailerLine) return Parse::kDone;
    state_ = State::kTrailer;
    return Parse::kMore;
  }
  if (state_ == State::kTrailerEnd) return Parse::kBad;
  if (state_ == State::kTrailer) state_ = c == '\r' ? State::kTrailerEnd : State::kTrailerLine;
  return Parse::kMore;
}

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
  // Servers disagree about deflate: a first byte without a zlib header means the bare format.
  if (encoding_ == Encoding::kDeflate && stream.total_in == 0 && !input.empty() && (input[0] & 0x0f) != 8) {
    inflateReset2(&stream, -MAX_WBITS);
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
  stream.avail_in = static_cast<uInt>(input.size());
  while (stream.avail_in > 0 || !complete_) {
    if (complete_) {
      // A gzip body may have several members; other bytes behind the end are garbage.
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
