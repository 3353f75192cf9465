#include "election/store/web/line_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace bellwether::store {

using http1::Parse;
using http1::ResponseHead;

Status LineReader::feed(std::string bytes) {
  if (has_head_) return take_body(std::move(bytes));
  head_text_ += bytes;
  return take_head();
}

Status LineReader::take_head() {
  const auto head = std::make_unique<ResponseHead>();  // it is large, and needed once
  while (!has_head_) {
    std::size_t consumed = 0;
    const char* reason = "";
    const Parse parsed = http1::parse_response_head(head_text_, false, scan_from_, *head, consumed, reason);
    if (parsed == Parse::kMore) return {};
    if (parsed != Parse::kDone) return fail(Errc::kProtocol, std::string("this is no response: ") + reason);
    if (head->status == 101) return fail(Errc::kProtocol, "switched protocols without being asked");
    head_text_.erase(0, consumed);
    scan_from_ = 0;
    has_head_ = head->status >= 200;  // an interim response: what follows it is still to come
  }
  head_ = *head;
  left_ = head_.content_length;
  over_ = head_.framing == ResponseHead::Framing::kNone;
  return take_body(std::exchange(head_text_, {}));
}

Status LineReader::take_body(std::string bytes) {
  if (over_) return {};
  if (head_.framing == ResponseHead::Framing::kChunked) {
    const auto step = chunked_.decode(bytes.data(), bytes.size());
    if (step.state == Parse::kBad || step.state == Parse::kTooLarge) {
      return fail(Errc::kProtocol, "the response is not in chunks as it should be");
    }
    over_ = step.state == Parse::kDone;
    bytes.resize(step.produced);
  } else if (head_.framing == ResponseHead::Framing::kLength) {
    bytes.resize(static_cast<std::size_t>(std::min<uint64_t>(bytes.size(), left_)));
    left_ -= bytes.size();
    over_ = left_ == 0;
  }
  text_.erase(0, std::exchange(begin_, 0));
  text_ += bytes;
  const std::size_t last_end = text_.rfind('\n');
  const std::size_t open = text_.size() - (last_end == std::string::npos ? 0 : last_end + 1);
  if (open > kLineMax) return fail(Errc::kProtocol, "a line of the response is too long");
  return {};
}

Status LineReader::close() {
  if (over_) return {};
  if (!has_head_ || head_.framing != ResponseHead::Framing::kUntilClose) {
    return fail(Errc::kClosed, "the server closed the connection");
  }
  over_ = true;
  return {};
}

std::optional<std::string> LineReader::next() {
  const std::size_t end = text_.find('\n', begin_);
  if (end == std::string::npos && (!over_ || begin_ == text_.size())) return std::nullopt;
  std::string line = text_.substr(begin_, end == std::string::npos ? end : end - begin_);
  begin_ = end == std::string::npos ? text_.size() : end + 1;
  return line;
}

}  // namespace bellwether::store
