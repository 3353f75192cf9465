// Messages of one priority that wait to be sent, in order, in one growing buffer: no allocation for each message once
// it has grown. The front message can be taken in pieces.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "wire/message.h"

namespace bellwether::wire {

class OutQueue {
 public:
  // `expires`: when nobody wants it any more; never() keeps it whatever happens.
  void push(const MessageHeader& header, Instant expires, Bytes body);
  // Bytes that wait, the bookkeeping included.
  std::size_t size() const { return buffer_.size() - head_; }
  bool empty() const { return size() == 0; }

  // Writes the next piece, header and body, into `out` (more than a header), and returns its size. Messages that have
  // expired before their first piece are left out; 0: nothing is left. What a request still has is set from `now`.
  std::size_t pop_piece(Instant now, MutableBytes out);

 private:
  struct Waiting {
    MessageHeader header;
    Instant expires;
    std::size_t size;
  };
  void drop_front(std::size_t bytes);

  std::vector<std::byte> buffer_;
  std::size_t head_ = 0;
  std::size_t sent_ = 0;  // of the front message's body
};

}  // namespace bellwether::wire
