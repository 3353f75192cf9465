// The two ends of a connection's bytes: what came and is still unread, and what is still to be sent.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/runtime/stream.h"
#include "core/runtime/task.h"

namespace bellwether::target {

class InBuffer {
 public:
  explicit InBuffer(runtime::Stream& stream) : stream_(stream), bytes_(kFirstSize) {}

  std::string_view unread() const { return {bytes_.data() + begin_, end_ - begin_}; }
  std::span<char> unread_bytes() { return {bytes_.data() + begin_, end_ - begin_}; }
  void consume(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // Waits for more bytes behind the unread ones, of which there may be `most`. False: no more will come.
  runtime::task<bool> receive(std::size_t most);
  // Reads over everything that still comes, until the client ends the connection or the stream is interrupted.
  runtime::task<void> forget_until_end();

 private:
  static constexpr std::size_t kFirstSize = 4096;
  void make_room(std::size_t most);

  runtime::Stream& stream_;
  std::vector<char> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class OutBuffer {
 public:
  static constexpr std::size_t kMaxPending = 64 * 1024;

  explicit OutBuffer(runtime::Stream& stream) : stream_(stream) {}

  bool empty() const { return text_.empty(); }
  std::size_t pending() const { return text_.size(); }
  // To be appended to, then flush().
  std::string& text() { return text_; }
  void append(std::string_view bytes) { text_ += bytes; }
  // The line before a chunk of `size` bytes.
  void append_chunk_size(std::size_t size);
  // Sends what the socket takes now and keeps the rest.
  void send_soon(std::string_view bytes);
  // False: the connection is broken.
  runtime::task<bool> flush();

 private:
  runtime::Stream& stream_;
  std::string text_;
};

}  // namespace bellwether::target
