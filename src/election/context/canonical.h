// Canonical bytes of values: numbers big-endian and of fixed width; texts, lists and maps after their length; structs
// member after member. Equal values have equal bytes, so a digest of the bytes identifies the value.
//
// A struct names its members once, for both directions:
//   auto parts(Is<Order> auto& one) { return std::tie(one.id, one.priority); }
// and may refuse decoded values:
//   bool is_sound(const Order& one);
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/time.h"

namespace bellwether::context_lead {

// The limits of a reader.
inline constexpr std::size_t kMaxTextBytes = 200;
inline constexpr std::size_t kMaxListed = 1000;

template <class T, class Of>
concept Is = std::same_as<std::remove_const_t<T>, Of>;

class CanonicalWriter {
 public:
  void raw(std::string_view bytes) { out_ += bytes; }
  void put(const auto&... values) { (one(values), ...); }
  const std::string& bytes() const { return out_; }

 private:
  void number(uint64_t value, std::size_t width) {
    for (std::size_t left = width; left > 0; --left) out_.push_back(static_cast<char>(value >> (8 * (left - 1))));
  }
  template <class T>
  void one(const T& value) {
    if constexpr (std::unsigned_integral<T> || std::is_enum_v<T>) {
      number(static_cast<uint64_t>(value), sizeof(T));
    } else if constexpr (std::same_as<T, double>) {
      number(std::bit_cast<uint64_t>(value), 8);
    } else if constexpr (std::same_as<T, Duration>) {
      number(static_cast<uint64_t>(value.ns()), 8);
    } else if constexpr (std::same_as<T, WallTime>) {
      number(static_cast<uint64_t>(value.unix_ns), 8);
    } else if constexpr (requires { value.value(); }) {
      one(value.value());
    } else if constexpr (requires { value.size(); }) {
      number(value.size(), 4);
      if constexpr (std::same_as<T, std::string>) {
        raw(value);
      } else {
        for (const auto& element : value) one(element);
      }
    } else if constexpr (requires { value.first; }) {
      put(value.first, value.second);
    } else {
      std::apply([this](const auto&... members) { this->put(members...); }, parts(value));
    }
  }
  std::string out_;
};

// Reads the same. After the first missing or wrong value, ok() is false and everything else reads as nothing.
class CanonicalReader {
 public:
  explicit CanonicalReader(std::string_view bytes) : rest_(bytes) {}
  std::string_view raw(std::size_t size) {
    if (size > rest_.size()) ok_ = false;
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  void get(auto&... values) { (one(values), ...); }
  template <class T>
  T take() {
    T value{};
    one(value);
    return value;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  uint64_t number(std::size_t width) {
    uint64_t value = 0;
    for (const char c : raw(width)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  std::size_t count(std::size_t most) {
    const uint64_t size = number(4);
    if (size > most) ok_ = false;
    return ok_ ? size : 0;
  }
  template <class T>
  void one(T& value) {
    if constexpr (std::same_as<T, bool>) {
      const uint64_t flag = number(1);
      if (flag > 1) ok_ = false;
      value = flag == 1;
    } else if constexpr (std::unsigned_integral<T> || std::is_enum_v<T>) {
      value = static_cast<T>(number(sizeof(T)));
    } else if constexpr (std::same_as<T, double>) {
      value = std::bit_cast<double>(number(8));
    } else if constexpr (std::same_as<T, Duration>) {
      value = Duration::nanos(static_cast<int64_t>(number(8)));
    } else if constexpr (std::same_as<T, WallTime>) {
      value = {static_cast<int64_t>(number(8))};
    } else if constexpr (requires { value.value(); }) {
      value = T(take<decltype(value.value())>());
    } else if constexpr (std::same_as<T, std::string>) {
      value = raw(count(kMaxTextBytes));
    } else if constexpr (requires { value.size(); }) {
      for (std::size_t left = count(kMaxListed); left > 0 && ok_; --left) element(value);
    } else {
      std::apply([this](auto&... members) { this->get(members...); }, parts(value));
      if constexpr (requires { is_sound(value); }) ok_ = ok_ && is_sound(value);
    }
  }
  template <class T>
  void element(std::vector<T>& list) {
    one(list.emplace_back());
  }
  // In ascending order of keys: a map has only one encoding.
  template <class K, class V>
  void element(std::map<K, V>& map) {
    K key = take<K>();
    if (!map.empty() && key <= map.rbegin()->first) ok_ = false;
    one(map[std::move(key)]);
  }
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace bellwether::context_lead
