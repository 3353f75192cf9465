// Feeding a response to a reader in given pieces, for tests and fuzzing.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/http1/client_reader.h"

namespace bellwether::http1 {

struct ReadOptions {
  bool head_request = false;
  bool want_body = true;
  uint64_t body_bytes_max = 1 << 20;
  HeadMemory* heads = nullptr;
};

struct ReadOutcome {
  ResponseReader::State state = ResponseReader::State::kMore;
  http1::ErrorKind error = http1::ErrorKind::kNone;
  std::string detail;
  int status = 0;  // 0: no complete head
  std::string body;
  bool reusable = false;
  uint64_t bytes_received = 0;
  bool operator==(const ReadOutcome&) const = default;
};

// Feeds `input` in pieces of these sizes and what is left in the largest possible ones, then, when the response is not
// complete, closes the connection. A piece that holds bytes behind the response ends the feeding, as it does in life.
inline ReadOutcome read_response(BufferPool& pool, std::string_view input, const ReadOptions& options,
                                 const std::vector<std::size_t>& pieces) {
  using State = ResponseReader::State;
  ResponseReader reader(pool, options.head_request, options.want_body, options.body_bytes_max, options.heads);
  ReadOutcome out;
  std::size_t at = 0;
  for (std::size_t i = 0; out.state == State::kMore && at < input.size(); ++i) {
    const MutableBytes space = reader.space();
    check(!space.empty(), "a reader always has space");
    const std::size_t limit = i < pieces.size() ? std::max<std::size_t>(pieces[i], 1) : input.size();
    const std::size_t count = std::min({space.size(), limit, input.size() - at});
    std::memcpy(space.data(), input.data() + at, count);
    at += count;
    out.state = reader.received(count);
  }
  if (out.state == State::kMore) {
    out.state = reader.ended();
    check(out.state != State::kMore, "the end decides");
  }
  out.error = reader.error();
  out.detail = reader.detail();
  out.reusable = reader.reusable();
  out.bytes_received = reader.bytes_received();
  check(out.bytes_received == at, "every byte is counted");
  if (out.state == State::kDone) out.body = std::string(reader.body());
  if (reader.has_head()) {
    const BufferPool::Lease buffer = reader.take_buffer();
    out.status = buffer->head.status;
    if (out.state == State::kDone && options.want_body) {
      char sum = 0;  // the slack behind the body is readable
      for (std::size_t i = 0; i < ResponseBuffer::kSlack; ++i) {
        sum = static_cast<char>(sum ^ (reader.body().data()[reader.body().size() + i]));
      }
      [[maybe_unused]] static volatile char used;
      used = sum;
    }
  }
  return out;
}

}  // namespace bellwether::http1
