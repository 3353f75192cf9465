// Receives a response that goes on for as long as its server likes, and gives it line by line as it comes: how etcd and
// Kubernetes tell of changes. Bytes go in in any pieces; no socket, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/http1/chunked.h"

namespace bellwether::store {

class LineReader {
 public:
  static constexpr std::size_t kLineMax = 4u << 20;

  // kProtocol: this is no response, or its line is longer than kLineMax. Nothing is to be asked of it afterwards.
  Status feed(std::string bytes);
  // The peer has closed the connection. kClosed: in the middle of the response.
  Status close();

  int status() const { return head_.status; }  // 0 until the head has come
  // The response has ended; what is left of it is in next().
  bool over() const { return over_; }
  // The next whole line without its end; the last one needs none.
  std::optional<std::string> next();

 private:
  Status take_head();
  Status take_body(std::string bytes);

  bool has_head_ = false;
  bool over_ = false;
  http1::ResponseFacts head_;
  uint64_t left_ = 0;      // of a body with a length
  std::string head_text_;  // until the head is whole
  std::size_t scan_from_ = 0;
  http1::ChunkedDecoder chunked_;
  std::string text_;  // of the body, from `begin_` on
  std::size_t begin_ = 0;
};

}  // namespace bellwether::store
