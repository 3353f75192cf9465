#include "store/disk/sha256.h"

#include <array>
#include <openssl/evp.h>

#include "base/check.h"

namespace bellwether::store {

std::string sha256_hex(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, 32> digest{};
  const int done = EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  check(done == 1, "the library knows SHA-256");
  std::string hex;
  hex.reserve(digest.size() * 2);
  for (const unsigned char byte : digest) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

}  // namespace bellwether::store
