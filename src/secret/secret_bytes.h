// Bytes that nobody may find later: wiped when they end, moved but never copied, and without a way to print them. They
// are in ordinary memory: whoever holds them sees to it that the process is not swapped out or dumped.
#pragma once

#include <cstddef>
#include <memory>

#include "base/bytes.h"

namespace bellwether::secret {

class SecretBytes {
 public:
  SecretBytes() = default;
  explicit SecretBytes(std::size_t size);  // zeros
  static SecretBytes copy_of(Bytes bytes);
  // What is moved from has none.
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

}  // namespace bellwether::secret
