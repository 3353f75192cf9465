// Where a response is received: leased from the load thread's pool for as long as a response is in flight or looked at,
// so an idle virtual user holds none.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/http1/decode.h"
#include "core/http1/response_head.h"

namespace bellwether::http1 {

struct ResponseBuffer {
  static constexpr std::size_t kBytes = 16 * 1024;
  // Readable bytes behind what was received, for parsers that read in wide steps.
  static constexpr std::size_t kSlack = 64;
  std::array<char, kBytes + kSlack> bytes;
  ResponseHead head;
  std::string large_head;            // a head that does not fit into `bytes`
  std::string spill;                 // a body that does not fit behind its head
  std::string body;                  // a body that was encoded, decoded
  std::unique_ptr<Decoder> decoder;  // made at the first encoded body
};

class BufferPool {
 public:
  struct Return {
    BufferPool* pool = nullptr;
    void operator()(ResponseBuffer* buffer) const { pool->give_back(buffer); }
  };
  using Lease = std::unique_ptr<ResponseBuffer, Return>;

  Lease take() {
    if (free_.empty()) return Lease(new ResponseBuffer, Return{this});
    ResponseBuffer* buffer = free_.back().release();
    free_.pop_back();
    return Lease(buffer, Return{this});
  }

 private:
  // What grew large is not kept: one large response must not pin its memory for ever.
  static constexpr std::size_t kKeepBody = 256 * 1024;
  void give_back(ResponseBuffer* buffer) {
    for (std::string* text : {&buffer->body, &buffer->spill, &buffer->large_head}) {
      if (text->capacity() > kKeepBody) std::string().swap(*text);
    }
    free_.emplace_back(buffer);
  }
  std::vector<std::unique_ptr<ResponseBuffer>> free_;
};

}  // namespace bellwether::http1
