// Remembers the last response head and the fields read from it. A server's answers to one request mostly begin with the
// same bytes (until the second in Date changes). Those need no second reading: reading is a function of the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/http1/response_head.h"

namespace bellwether::http1 {

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

}  // namespace bellwether::http1
