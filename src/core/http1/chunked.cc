#include "core/http1/chunked.h"

#include <cstring>

#include "core/base/hex.h"

namespace bellwether::http1 {

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
  if (++line_ > kLineMax) return Parse::kTooLarge;
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
  if (++line_ > kTrailersMax) return Parse::kTooLarge;
  if (c == '\n') {
    if (state_ != State::kTrailerLine) return Parse::kDone;
    state_ = State::kTrailer;
    return Parse::kMore;
  }
  if (state_ == State::kTrailerEnd) return Parse::kBad;
  if (state_ == State::kTrailer) state_ = c == '\r' ? State::kTrailerEnd : State::kTrailerLine;
  return Parse::kMore;
}

}  // namespace bellwether::http1
