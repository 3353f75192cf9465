#include "election/store/web/line_reader.h"

#include <utility>

namespace bellwether::store {

using State = http1::ResponseReader::State;

Status LineReader::take(State state) {
  if (state == State::kFailed) {
    const bool closed = reader_.error() == http1::ErrorKind::kClosed || reader_.error() == http1::ErrorKind::kTruncated;
    if (closed) return fail(Errc::kClosed, "the server closed the connection");
    return fail(Errc::kProtocol, std::string("this is no response: ") + reader_.detail());
  }
  if (!reader_.has_head()) return {};
  over_ = state == State::kDone;
  text_.erase(0, std::exchange(begin_, 0));
  text_ += over_ ? std::string(reader_.body()) : reader_.take_piece();
  const std::size_t last_end = text_.rfind('\n');
  const std::size_t open = text_.size() - (last_end == std::string::npos ? 0 : last_end + 1);
  if (open > kLineMax) return fail(Errc::kProtocol, "a line of the response is too long");
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
