// A response without its buffer: for a user that waits for long and may read it afterwards. A buffer has room for any
// usual response, and thousands of waiting users would each hold one.
#pragma once

#include <cstdint>
#include <memory>

#include "core/http1/client.h"

namespace bellwether::http1 {

class StowedResponse {
 public:
  // Takes the data that the response keeps in its buffer, and gives the buffer back to its pool. Nothing to take: no
  // answer, no buffer, or a body so large that its memory is separate. Views of its head and body are void from now on,
  // also after restore(), which puts it elsewhere.
  void take(Response& response);
  // Puts it back into the response that it was taken from, in a buffer of the same pool.
  void restore(Response& response);
  bool empty() const { return bytes_ == nullptr; }

 private:
  // Larger ones are left where they are.
  static constexpr std::size_t kMaxBytes = ResponseBuffer::kBytes / 2;

  BufferPool* pool_ = nullptr;
  ResponseFacts facts_;
  uint16_t fields_ = 0;
  uint32_t body_ = 0;  // bytes
  // Lengths of the location and of each field's name and value, then their bytes one after the other, then the body.
  std::unique_ptr<char[]> bytes_;
};

}  // namespace bellwether::http1
