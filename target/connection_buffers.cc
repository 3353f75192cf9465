#include "target/connection_buffers.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/base/bytes.h"

namespace bellwether::target {

using runtime::Io;
using runtime::task;

void InBuffer::make_room(std::size_t most) {
  if (begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == bytes_.size()) bytes_.resize(std::min(most, 2 * bytes_.size()));
}

task<bool> InBuffer::receive(std::size_t most) {
  if (end_ == bytes_.size()) make_room(most);
  check(end_ < bytes_.size(), "a head or a body is taken off the buffer before it is full");
  while (true) {
    const Errc interrupted = co_await stream_.readable();
    if (interrupted != Errc::kOk) co_return false;
    const Io io = stream_.try_read(std::as_writable_bytes(std::span(bytes_).subspan(end_)));
    if (io.kind == Io::Kind::kWouldBlock) continue;
    if (io.kind != Io::Kind::kDone) co_return false;
    end_ += io.count;
    co_return true;
  }
}

task<void> InBuffer::forget_until_end() {
  bool more = true;
  while (more) {
    begin_ = end_ = 0;
    more = co_await receive(bytes_.size());
  }
}

void OutBuffer::append_chunk_size(std::size_t size) {
  char line[24];
  const int length = std::snprintf(line, sizeof line, "%zx\r\n", size);
  text_.append(line, static_cast<std::size_t>(length));
}

void OutBuffer::send_soon(std::string_view bytes) {
  if (text_.empty()) {
    const Io io = stream_.try_write(as_bytes(bytes));
    if (io.kind == Io::Kind::kDone) bytes.remove_prefix(io.count);
  }
  text_ += bytes;
}

task<bool> OutBuffer::flush() {
  std::size_t sent = 0;
  while (sent < text_.size()) {
    const Io io = stream_.try_write(as_bytes(text_).subspan(sent));
    if (io.kind == Io::Kind::kDone) {
      sent += io.count;
      continue;
    }
    if (io.kind != Io::Kind::kWouldBlock) co_return false;
    const Errc interrupted = co_await stream_.writable();
    if (interrupted != Errc::kOk) co_return false;
  }
  text_.clear();
  co_return true;
}

}  // namespace bellwether::target
