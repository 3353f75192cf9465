// One holder's piece of a secret that was split (sharing.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/bytes.h"
#include "core/base/strong_id.h"

namespace bellwether::secret {

// Bytes that must not be found later: wiped when they end, moved but never copied, and without a way to print them.
// They are in ordinary memory: their owner ensures that the process is not swapped out or dumped.
class SecretBytes {
 public:
  SecretBytes() = default;
  explicit SecretBytes(std::size_t size);  // zeros
  static SecretBytes copy_of(Bytes bytes);
  // A moved-from object is empty.
  SecretBytes(SecretBytes&& other) noexcept;
  SecretBytes& operator=(SecretBytes&& other) noexcept;
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;
  ~SecretBytes();

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Bytes bytes() const { return {data_.get(), size_}; }
  MutableBytes bytes() { return {data_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_ = 0;
};

template <class Stream>
Stream& operator<<(Stream& stream, const SecretBytes& bytes) = delete;

inline constexpr std::size_t kMaxSecretBytes = 4096;
inline constexpr std::size_t kMaxKeyShares = 255;
inline constexpr std::size_t kBlindBytes = 32;  // random ones, which are split together with the secret

using SecretId = StrongId<struct SecretTag, uint64_t>;
// Drawn for each splitting of a secret, and public: key shares of two splittings do not go together.
using Salt = std::array<std::byte, 16>;

struct KeyShare {
  SecretId secret;
  Salt salt{};
  uint8_t index = 0;  // x of the point, from 1
  SecretBytes value;  // y of each byte of the secret, then of each of the blind
};

}  // namespace bellwether::secret
