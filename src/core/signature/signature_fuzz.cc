// Bytes as a signed program: an accepted program is exactly what its parts sign again, except for the signature itself,
// and is refused without trust in its key. The same bytes as keys in PEM.
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/signature/signature.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto read = signature::read(bytes, "x");
  check(read.has_value() || !read.error().message.empty(), "signed, or what is wrong");
  if (read) {
    check(bytes.starts_with(read->program) && read->program.size() < bytes.size(), "the program stands first");
    check(read->versions.product.size() <= signature::kMaxVersionBytes, "a version is short");
    signature::PublicKey other = read->key;
    other[0] ^= 1U;
    check(!signature::admit(bytes, "x", {other}, read->versions.interface), "whose key is not trusted is refused");
    check(signature::admit(bytes, "x", {read->key}, read->versions.interface).has_value(), "and whose is, is not");
  }
  const auto keys = signature::read_public_keys(bytes, "x");
  check(keys ? !keys->empty() && keys->size() <= signature::kMaxKeys : !keys.error().message.empty(), "keys, or why");
  const auto key = signature::SigningKey::read(bytes, "x");
  check(key.has_value() || !key.error().message.empty(), "a key, or why");
  return 0;
}
