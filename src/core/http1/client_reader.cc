#include "core/http1/client_reader.h"

#include <cstring>

#include "core/base/check.h"

namespace bellwether::http1 {
namespace {

constexpr std::size_t kLargeHead = 64 * 1024 + ResponseBuffer::kBytes;
// A body is received in pieces of at least this size, wherever its head ended.
constexpr std::size_t kMinPiece = 4096;

}  // namespace

Parse HeadMemory::parse(std::string_view input, bool head_request, std::size_t& scan_from, ResponseHead& out,
                        std::size_t& consumed, const char*& reason) {
  if (is_known(input, head_request)) {
    recall(input, out);
    consumed = size_;
    misses_ = 0;
    return Parse::kDone;
  }
  const Parse parsed = parse_response_head(input, head_request, scan_from, out, consumed, reason);
  if (parsed == Parse::kDone && misses_++ % kMissesBetween < kMissesInARow) {
    remember(input.substr(0, consumed), head_request, out);
  }
  return parsed;
}

bool HeadMemory::is_known(std::string_view input, bool head_request) const {
  return size_ != 0 && input.size() >= size_ && head_request == head_request_ &&
         std::memcmp(input.data(), bytes_.data(), size_) == 0;
}

void HeadMemory::recall(std::string_view input, ResponseHead& out) const {
  const auto view = [input](Place place) { return std::string_view(input.data() + place.at, place.size); };
  static_cast<ResponseFacts&>(out) = facts_;
  out.location = view(location_);
  out.field_count = field_count_;
  for (uint16_t i = 0; i < field_count_; ++i) out.fields[i] = {view(fields_[i][0]), view(fields_[i][1])};
}

void HeadMemory::remember(std::string_view head, bool head_request, const ResponseHead& read) {
  if (head.size() > kMaxBytes || read.field_count > kMaxFields) return;
  const auto place = [head](std::string_view part) {
    const std::size_t at = part.empty() ? 0 : static_cast<std::size_t>(part.data() - head.data());
    return Place{static_cast<uint16_t>(at), static_cast<uint16_t>(part.size())};
  };
  std::memcpy(bytes_.data(), head.data(), head.size());
  size_ = static_cast<uint16_t>(head.size());
  head_request_ = head_request;
  facts_ = read;
  location_ = place(read.location);
  field_count_ = read.field_count;
  for (uint16_t i = 0; i < field_count_; ++i) fields_[i] = {place(read.fields[i].name), place(read.fields[i].value)};
}

MutableBytes ResponseReader::space() {
  if (buffer_ == nullptr) {
    buffer_ = pool_.take();
    area_ = buffer_->bytes.data();
    area_size_ = ResponseBuffer::kBytes;
  }
  check(filled_ < area_size_);
  return {reinterpret_cast<std::byte*>(area_ + filled_), area_size_ - filled_};
}

ResponseReader::State ResponseReader::received(std::size_t count) {
  check(filled_ + count <= area_size_);
  bytes_received_ += count;
  if (has_head_) return consume_body(count);
  filled_ += count;
  return parse_head();
}

ResponseReader::State ResponseReader::ended() {
  if (!has_head_) {
    return bytes_received_ == 0 ? fail(ErrorKind::kClosed, "closed before the first byte of the response")
                                : fail(ErrorKind::kTruncated, "closed in the middle of the head");
  }
  if (buffer_->head.framing == ResponseHead::Framing::kUntilClose) {
    reusable_ = false;
    const State state = finish(0);
    reusable_ = false;
    return state;
  }
  return fail(ErrorKind::kTruncated, "closed in the middle of the body");
}

ResponseReader::State ResponseReader::parse_head() {
  while (true) {
    std::size_t consumed = 0;
    const std::string_view input(area_, filled_);
    const Parse parsed = heads_ != nullptr
                             ? heads_->parse(input, head_request_, scan_from_, buffer_->head, consumed, detail_)
                             : parse_response_head(input, head_request_, scan_from_, buffer_->head, consumed, detail_);
    if (parsed == Parse::kFolded) {
      unfold(area_, filled_);
      continue;
    }
    if (parsed == Parse::kBad) return fail(ErrorKind::kProtocol, detail_);
    if (parsed == Parse::kTooLarge) return fail(ErrorKind::kTooLarge, detail_);
    if (parsed == Parse::kMore) {
      if (filled_ < area_size_) return State::kMore;
      if (area_size_ >= kLargeHead) return fail(ErrorKind::kTooLarge, "the head is larger than 64 KiB");
      buffer_->large_head.resize(kLargeHead + ResponseBuffer::kSlack);
      std::memcpy(buffer_->large_head.data(), area_, filled_);
      area_ = buffer_->large_head.data();
      area_size_ = kLargeHead;
      return State::kMore;
    }
    const int status = buffer_->head.status;
    if (status >= 200) {
      body_start_ = consumed;
      break;
    }
    if (status == 101) return fail(ErrorKind::kProtocol, "switched protocols without being asked");
    if (interim_++ == kMaxInterim) return fail(ErrorKind::kTooLarge, "more than 100 interim responses (1xx)");
    filled_ -= consumed;  // an interim response: the final one is still to come
    std::memmove(area_, area_ + consumed, filled_);
    scan_from_ = 0;
  }
  has_head_ = true;
  const std::size_t fresh = filled_ - body_start_;
  filled_ = body_start_;
  const ResponseHead& head = buffer_->head;
  body_left_ = head.content_length;
  if (head.framing == ResponseHead::Framing::kNone) return finish(fresh);
  if (want_body_ && head.framing == ResponseHead::Framing::kLength && body_left_ > body_bytes_max_) {
    return fail(ErrorKind::kTooLarge, "the body is larger than body_max");
  }
  chunked_.reset();
  const State state = consume_body(fresh);
  if (state == State::kMore && area_size_ - filled_ < kMinPiece && filled_ == body_start_) {
    // Next to no room behind the head: receive the body elsewhere, the head stays where it is.
    buffer_->large_head.resize(kLargeHead + ResponseBuffer::kSlack);
    if (area_ != buffer_->large_head.data()) {
      area_ = buffer_->large_head.data();
      area_size_ = kLargeHead;
      body_start_ = filled_ = 0;
    }
  }
  return state;
}

// `fresh` bytes stand behind the kept ones, at filled_.
ResponseReader::State ResponseReader::consume_body(std::size_t fresh) {
  switch (buffer_->head.framing) {
    case ResponseHead::Framing::kLength: return consume_length(fresh);
    case ResponseHead::Framing::kChunked: return consume_chunked(fresh);
    case ResponseHead::Framing::kUntilClose:
      return keep_in_area(fresh) ? State::kMore : fail(ErrorKind::kTooLarge, "the body is larger than body_max");
    case ResponseHead::Framing::kNone: break;
  }
  return finish(fresh);
}

ResponseReader::State ResponseReader::consume_length(std::size_t fresh) {
  const std::size_t mine = fresh < body_left_ ? fresh : static_cast<std::size_t>(body_left_);
  body_left_ -= mine;
  if (body_left_ == 0) {
    filled_ += mine;
    return finish(fresh - mine);
  }
  return keep_in_area(mine) ? State::kMore : fail(ErrorKind::kTooLarge, "the body is larger than body_max");
}

ResponseReader::State ResponseReader::consume_chunked(std::size_t fresh) {
  const auto step = chunked_.decode(area_ + filled_, fresh);
  if (step.state == Parse::kBad) return fail(ErrorKind::kProtocol, "broken chunked framing");
  if (step.state == Parse::kTooLarge)
    return fail(ErrorKind::kTooLarge, "chunk extensions or trailers over their limit");
  if (step.state == Parse::kDone) {
    filled_ += step.produced;
    return finish(fresh - step.consumed);
  }
  return keep_in_area(step.produced) ? State::kMore : fail(ErrorKind::kTooLarge, "the body is larger than body_max");
}

// Keeps `count` more bytes of the body. They stay in the area while it has room, then move to the spill. False: over
// the limit.
bool ResponseReader::keep_in_area(std::size_t count) {
  if (!want_body_) {
    filled_ = body_start_;
    return true;
  }
  filled_ += count;
  if (filled_ - body_start_ + (spilled_ ? buffer_->spill.size() : 0) > body_bytes_max_) return false;
  if (area_size_ - filled_ >= kMinPiece) return true;
  if (!spilled_) buffer_->spill.clear();
  spilled_ = true;
  buffer_->spill.append(area_ + body_start_, filled_ - body_start_);
  filled_ = body_start_;
  return true;
}

std::string ResponseReader::take_piece() {
  check(has_head_ && want_body_);
  std::string piece;
  if (spilled_) piece.swap(buffer_->spill);
  spilled_ = false;
  piece.append(area_ + body_start_, filled_ - body_start_);
  filled_ = body_start_;
  return piece;
}

ResponseReader::State ResponseReader::finish(std::size_t surplus) {
  // Bytes behind the end of the response belong to nothing we asked for.
  reusable_ = buffer_->head.keep_alive && surplus == 0;
  if (!want_body_) return State::kDone;
  body_ = {area_ + body_start_, filled_ - body_start_};
  if (body_.size() + (spilled_ ? buffer_->spill.size() : 0) > body_bytes_max_) {
    return fail(ErrorKind::kTooLarge, "the body is larger than body_max");
  }
  if (spilled_) {
    buffer_->spill.append(body_);
    buffer_->spill.reserve(buffer_->spill.size() + ResponseBuffer::kSlack);
    body_ = buffer_->spill;
  }
  if (buffer_->head.encoding == Encoding::kIdentity || body_.empty()) return State::kDone;
  return decode() ? State::kDone : State::kFailed;
}

bool ResponseReader::decode() {
  Codings codings = codings_of(buffer_->head);
  if (codings.count == 1 && codings.list[0] == Encoding::kUnknown) {
    unknown_coding_ = true;
    return true;
  }
  if (buffer_->decoder == nullptr) buffer_->decoder = std::make_unique<Decoder>();
  std::string before;  // of a second coding: the result of the first
  for (; codings.count > 0; --codings.count) {
    before.swap(buffer_->body);
    buffer_->body.clear();
    buffer_->decoder->reset(codings.list[codings.count - 1]);
    const Errc fed = buffer_->decoder->feed(body_, buffer_->body, body_bytes_max_);
    if (fed == Errc::kTooLarge) {
      fail(ErrorKind::kTooLarge, "the decoded body is larger than body_max");
      return false;
    }
    if (fed != Errc::kOk || buffer_->decoder->finish() != Errc::kOk) {
      fail(ErrorKind::kDecode, "the content encoding is broken");
      return false;
    }
    buffer_->body.reserve(buffer_->body.size() + ResponseBuffer::kSlack);
    body_ = buffer_->body;
  }
  return true;
}

ResponseReader::State ResponseReader::fail(ErrorKind error, const char* detail) {
  error_ = error;
  detail_ = detail;
  reusable_ = false;
  return State::kFailed;
}

}  // namespace bellwether::http1
