// Bytes of values, one way only: numbers big-endian and of fixed width, texts and lists with their length before them.
// Equal values have equal bytes, so that a digest of the bytes is one of the value.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace bellwether::context_lead {

class CanonicalWriter {
 public:
  void u8(uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u32(uint32_t value) { number(value, 4); }
  void u64(uint64_t value) { number(value, 8); }
  void real(double value) { u64(std::bit_cast<uint64_t>(value)); }
  void flag(bool value) { u8(value ? 1 : 0); }
  void span(Duration value) { u64(static_cast<uint64_t>(value.ns())); }
  void wall(WallTime value) { u64(static_cast<uint64_t>(value.unix_ns)); }
  void text(std::string_view value) {
    u32(static_cast<uint32_t>(value.size()));
    raw(value);
  }
  void raw(std::string_view value) { out_ += value; }
  const std::string& bytes() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  void number(uint64_t value, int width) {
    for (int i = width - 1; i >= 0; --i) out_.push_back(static_cast<char>(value >> (8 * i)));
  }
  std::string out_;
};

// Reads the same. After the first thing that is not there, or not as it must be, ok() is false and all else reads as
// nothing.
class CanonicalReader {
 public:
  explicit CanonicalReader(std::string_view bytes) : rest_(bytes) {}
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  double real() { return std::bit_cast<double>(u64()); }
  bool flag() {
    const uint8_t value = u8();
    if (value > 1) fail();
    return value == 1;
  }
  Duration span() { return Duration::nanos(static_cast<int64_t>(u64())); }
  WallTime wall() { return {static_cast<int64_t>(u64())}; }
  // At most so many bytes.
  std::string text(std::size_t most) {
    const uint32_t size = u32();
    if (size > most) fail();
    return std::string(raw(size));
  }
  // How many elements follow: at most so many.
  std::size_t count(std::size_t most) {
    const uint32_t size = u32();
    if (size > most) fail();
    return ok_ ? size : 0;
  }
  std::string_view raw(std::size_t size) {
    if (size > rest_.size()) fail();
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  void fail() { ok_ = false; }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }

 private:
  uint64_t number(std::size_t width) {
    uint64_t value = 0;
    for (const char c : raw(width)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace bellwether::context_lead
