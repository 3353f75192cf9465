// The wire format of protocol buffers. Numbers are little-endian. The functions append to `out`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bellwether::message {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void put_varint(uint64_t value, std::string& out);
void put_tag(uint32_t number, WireType type, std::string& out);
void put_fixed64(uint64_t value, std::string& out);
// Before the bytes from `start` on, their length. REQUIRES start <= out.size().
void insert_length(std::size_t start, std::string& out);

// Small numbers of either sign as small varints: 0, -1, 1, -2 are 0, 1, 2, 3. `bits` are those of an int64_t.
constexpr uint64_t zigzag_bits(uint64_t bits) {
  return bits << 1 ^ static_cast<uint64_t>(static_cast<int64_t>(bits) >> 63);
}
constexpr uint64_t unzigzag_bits(uint64_t bits) { return bits >> 1 ^ (~(bits & 1) + 1); }

// Takes parts from the front of bytes, which it does not copy: they must outlive it and its parts. Nothing where they
// end too early or are none; read no further then.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  struct Part {
    uint32_t number = 0;
    WireType type = WireType::kVarint;
    uint64_t value = 0;      // of a varint or a fixed one; of a delimited one the number of its bytes
    std::string_view bytes;  // of a delimited one
  };

  bool done() const { return rest_.empty(); }
  // A field: its number is not 0. Groups, which are obsolete, are none.
  std::optional<Part> part();
  // At most ten bytes; bits beyond 64 are dropped.
  std::optional<uint64_t> varint();
  // Of 4 or 8 bytes.
  std::optional<uint64_t> fixed(std::size_t bytes);

 private:
  std::string_view rest_;
};

}  // namespace bellwether::message
