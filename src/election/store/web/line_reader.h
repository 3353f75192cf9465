// Receives a response that goes on for as long as its server likes, and gives it line by line as it comes: how etcd and
// Kubernetes tell of changes. Bytes go in in any pieces; no socket, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/http1/client_reader.h"

namespace bellwether::store {

class LineReader {
 public:
  static constexpr std::size_t kLineMax = 4u << 20;

  explicit LineReader(http1::BufferPool& pool) : reader_(pool, false, true, UINT64_MAX) {}

  // Where to put the next bytes.
  MutableBytes space() { return reader_.space(); }
  // `count` bytes were put there. kProtocol: this is no response, or its line is longer than kLineMax. Nothing is to be
  // asked of it afterwards.
  Status received(std::size_t count) { return take(reader_.received(count)); }
  // The peer has closed the connection. kClosed: in the middle of the response.
  Status ended() { return take(reader_.ended()); }

  int status() const { return reader_.has_head() ? reader_.head().status : 0; }  // 0 until the head has come
  // The response has ended; what is left of it is in next().
  bool over() const { return over_; }
  // The next whole line without its end; the last one needs none.
  std::optional<std::string> next();

 private:
  Status take(http1::ResponseReader::State state);

  http1::ResponseReader reader_;
  bool over_ = false;
  std::string text_;  // of the body, from `begin_` on
  std::size_t begin_ = 0;
};

}  // namespace bellwether::store
