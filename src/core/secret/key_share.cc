#include "core/secret/key_share.h"

#include <algorithm>
#include <string.h>  // explicit_bzero, which compilers do not leave out
#include <utility>

namespace bellwether::secret {

SecretBytes::SecretBytes(std::size_t size) : data_(std::make_unique<std::byte[]>(size)), size_(size) {}

SecretBytes SecretBytes::copy_of(Bytes bytes) {
  SecretBytes copy(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.data_.get());
  return copy;
}

SecretBytes::SecretBytes(SecretBytes&& other) noexcept
    : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
  SecretBytes taken(std::move(other));
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  return *this;
}

SecretBytes::~SecretBytes() {
  if (data_ != nullptr) explicit_bzero(data_.get(), size_);
}

}  // namespace bellwether::secret
