// Numbers in network order, and a reader and a writer of small fixed layouts. For headers whose size was checked
// before.
#pragma once

#include <array>
#include <concepts>
#include <cstring>

#include "core/base/bytes.h"
#include "core/base/check.h"

namespace bellwether::wire {

template <std::unsigned_integral T>
void store_be(std::byte* to, T value) {
  for (std::size_t i = sizeof(T); i-- > 0; value = static_cast<T>(value >> (sizeof(T) > 1 ? 8U : 0U))) {
    to[i] = static_cast<std::byte>(value & 0xFFU);
  }
}

template <std::unsigned_integral T>
T load_be(const std::byte* from) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>((sizeof(T) > 1 ? static_cast<T>(value << 8U) : T{0}) | static_cast<T>(from[i]));
  }
  return value;
}

// Puts one value behind the other. REQUIRES that all of it fits.
class FixedWriter {
 public:
  explicit FixedWriter(MutableBytes into) : into_(into) {}
  template <std::unsigned_integral T>
  void put(T value) {
    store_be(take(sizeof(T)), value);
  }
  void put(Bytes bytes) {
    std::byte* to = take(bytes.size());
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  }

 private:
  std::byte* take(std::size_t size) {
    check(size <= into_.size() - used_, "a fixed layout fits its buffer");
    used_ += size;
    return into_.data() + used_ - size;
  }
  MutableBytes into_;
  std::size_t used_ = 0;
};

// Takes one value after the other. REQUIRES that all of it is there.
class FixedReader {
 public:
  explicit FixedReader(Bytes from) : from_(from) {}
  template <std::unsigned_integral T>
  T get() {
    return load_be<T>(take(sizeof(T)));
  }
  template <std::size_t kSize>
  std::array<std::byte, kSize> get_bytes() {
    std::array<std::byte, kSize> bytes;
    std::memcpy(bytes.data(), take(kSize), kSize);
    return bytes;
  }

 private:
  const std::byte* take(std::size_t size) {
    check(size <= from_.size() - used_, "a fixed layout is there in full");
    used_ += size;
    return from_.data() + used_ - size;
  }
  Bytes from_;
  std::size_t used_ = 0;
};

}  // namespace bellwether::wire
