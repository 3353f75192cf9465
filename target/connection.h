// One connection of a client to the target: requests are read from it one after another, and answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/prng.h"
#include "core/runtime/runtime.h"
#include "core/runtime/stream.h"
#include "core/runtime/task.h"
#include "target/routes.h"

namespace bellwether::target {

// What all connections of one thread share.
struct Service {
  Service(runtime::Runtime& r, const FaultOptions& options, uint64_t seed)
      : runtime(r), faults(options, r.now()), prng(seed) {}

  runtime::Runtime& runtime;
  Faults faults;
  Prng prng;
  uint64_t connections = 0;
  uint64_t requests = 0;
  http1::RequestHead head;  // the one being answered: good until the next wait
};

// Serves until the client closes, breaks the protocol, or `cancel` is cancelled.
runtime::task<void> serve(Service* service, std::unique_ptr<runtime::Stream> stream, runtime::Cancellation* cancel);

// The two ends of a connection's bytes: what came and is still unread, and what is still to be sent.
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
