// Frames over a stream socket between two processes of one machine. Writing never waits: what the socket does not take
// is kept, and it is for the owner to look at how much that is. One runtime, one thread; one reader.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/event.h"
#include "core/runtime/runtime.h"

namespace bellwether::node {

class ShareSocket {
 public:
  // Takes `fd`, a connected stream socket, over. Errors: it is none, no descriptor is left.
  static Result<std::unique_ptr<ShareSocket>> take(runtime::Runtime& runtime, int fd);
  ~ShareSocket();
  ShareSocket(const ShareSocket&) = delete;
  ShareSocket& operator=(const ShareSocket&) = delete;

  // The payload of the next frame. kClosed: the other end is gone; kProtocol: a frame of no bytes or too many;
  // kCancelled. Nothing can be read any more then.
  runtime::task<Result<std::string>> read(runtime::Cancellation* cancel);
  // REQUIRES a payload within the limit of a frame, and not empty.
  void write(std::string_view payload);
  // Bytes that the socket has not taken yet.
  std::size_t waiting() const { return waiting_; }
  // Until the socket has taken all, or the other end is gone. One at a time.
  runtime::task<void> flush();

 private:
  ShareSocket(runtime::Runtime& runtime, int read_fd, int write_fd);
  runtime::task<void> write_on();
  bool send_some();

  runtime::Runtime& runtime_;
  int read_fd_;
  int write_fd_;  // the same socket: each descriptor is waited for by one
  std::vector<std::byte> in_;
  std::size_t in_size_ = 0;
  std::deque<std::string> out_;
  std::size_t out_from_ = 0;  // of the first of them
  std::size_t waiting_ = 0;
  bool broken_ = false;
  runtime::Event to_write_;
  runtime::Event drained_;
  runtime::task<void> writer_;
};

}  // namespace bellwether::node
