// The secret that the nodes of a cluster share. It is refused when it is short or easy to guess, kept in memory that is
// not swapped and not dumped where the system allows, wiped when it ends, and never printed.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace bellwether::wire {

inline constexpr std::size_t kSecretMin = 16;  // characters
inline constexpr std::size_t kSecretMax = 1024;

class Secret {
 public:
  // Takes the text over and wipes it. kInvalid says what is wrong without repeating any of it.
  static Result<Secret> take(std::string&& text);
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = delete;
  ~Secret();

  Bytes bytes() const { return {data_, size_}; }

 private:
  Secret(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_;
  std::size_t size_;
};

}  // namespace bellwether::wire
