// Receives one response: head, framing, body, encoding. Accepts bytes in pieces of any size; no socket, no clock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/http1/body_coding.h"
#include "core/http1/error_kind.h"
#include "core/http1/head.h"

namespace bellwether::http1 {

// Remembers the last response head and the fields read from it. A server's answers to one request mostly begin with the
// same bytes (until the second in Date changes). Those need no second reading: reading is a function of the bytes.
class HeadMemory {
 public:
  // As parse_response_head(), and with the same result.
  Parse parse(std::string_view input, bool head_request, std::size_t& scan_from, ResponseHead& out,
              std::size_t& consumed, const char*& reason);

 private:
  // Heads beyond these are read each time.
  static constexpr std::size_t kMaxBytes = 1024;
  static constexpr std::size_t kMaxFields = 32;

  // When all heads of a server differ, it is not worth remembering each of them: after some misses only now and then.
  static constexpr uint32_t kMissesBetween = 32;
  static constexpr uint32_t kMissesInARow = 4;

  // A view as its place in the head.
  struct Place {
    uint16_t at;
    uint16_t size;
  };
  bool is_known(std::string_view input, bool head_request) const;
  void recall(std::string_view input, ResponseHead& out) const;
  void remember(std::string_view head, bool head_request, const ResponseHead& read);

  std::array<char, kMaxBytes> bytes_;
  uint32_t misses_ = 0;  // since the last head that was known
  uint16_t size_ = 0;    // 0: nothing is remembered
  uint16_t field_count_ = 0;
  bool head_request_ = false;
  ResponseFacts facts_;
  Place location_{};
  std::array<std::array<Place, 2>, kMaxFields> fields_;  // name, value
};

// The memory of a response: leased from the load thread's pool while a response is in flight or read, so an idle
// virtual user holds none.
struct ResponseBuffer {
  static constexpr std::size_t kBytes = 16 * 1024;
  // Readable bytes behind the received ones, for parsers that read in wide steps.
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
  // Larger memory is freed: one large response must not pin its memory for ever.
  static constexpr std::size_t kKeepBody = 256 * 1024;
  void give_back(ResponseBuffer* buffer) {
    for (std::string* text : {&buffer->body, &buffer->spill, &buffer->large_head}) {
      if (text->capacity() > kKeepBody) std::string().swap(*text);
    }
    free_.emplace_back(buffer);
  }
  std::vector<std::unique_ptr<ResponseBuffer>> free_;
};

class ResponseReader {
 public:
  // Interim responses (1xx) before the final one; one more fails with kTooLarge.
  static constexpr uint8_t kMaxInterim = 100;

  enum class State : uint8_t { kMore, kDone, kFailed };

  // `want_body`: keep the body, decoded, up to `body_bytes_max` bytes; else it is framed, counted and forgotten.
  // `heads`: of earlier responses; may be nullptr.
  ResponseReader(BufferPool& pool, bool head_request, bool want_body, uint64_t body_bytes_max,
                 HeadMemory* heads = nullptr)
      : pool_(pool),
        heads_(heads),
        head_request_(head_request),
        want_body_(want_body),
        body_bytes_max_(body_bytes_max) {}

  // The place for the next bytes: never empty. Leases a buffer at first use.
  MutableBytes space();
  // `count` bytes were put there.
  State received(std::size_t count);
  // The peer has closed the connection.
  State ended();

  // Why it failed; meaningful after kFailed.
  http1::ErrorKind error() const { return error_; }
  const char* detail() const { return detail_; }

  bool has_head() const { return has_head_; }
  // REQUIRES has_head(), and that the buffer was not taken.
  const ResponseHead& head() const { return buffer_->head; }
  // The bytes of a wanted body since the last call, for a response that goes on; it does not keep them. REQUIRES kMore
  // and has_head(); when the response ends, body() is the rest.
  std::string take_piece();
  // After kDone.
  bool reusable() const { return reusable_; }
  // The wanted body has a coding that nobody here knows, and is as it came.
  bool has_unknown_coding() const { return unknown_coding_; }
  std::string_view body() const { return body_; }
  BufferPool::Lease take_buffer() { return std::move(buffer_); }
  uint64_t bytes_received() const { return bytes_received_; }

 private:
  State parse_head();
  State consume_body(std::size_t fresh);
  State consume_length(std::size_t fresh);
  State consume_chunked(std::size_t fresh);
  State finish(std::size_t surplus);
  State fail(http1::ErrorKind error, const char* detail);
  bool keep_in_area(std::size_t count);
  bool decode();

  BufferPool& pool_;
  HeadMemory* heads_;
  BufferPool::Lease buffer_;
  bool head_request_;
  bool want_body_;
  bool has_head_ = false;
  bool reusable_ = false;
  bool unknown_coding_ = false;
  bool spilled_ = false;  // part of the body has moved to ResponseBuffer::spill
  uint8_t interim_ = 0;   // interim responses (1xx) so far
  http1::ErrorKind error_ = http1::ErrorKind::kNone;
  uint64_t body_bytes_max_;
  uint64_t body_left_ = 0;  // kLength: bytes still to come
  uint64_t bytes_received_ = 0;
  char* area_ = nullptr;  // where bytes are received
  std::size_t area_size_ = 0;
  std::size_t filled_ = 0;      // of the area: bytes received (head) or kept (body)
  std::size_t body_start_ = 0;  // of the area: where the body begins
  std::size_t scan_from_ = 0;
  const char* detail_ = "";
  std::string_view body_;
  ChunkedDecoder chunked_;
};

}  // namespace bellwether::http1
