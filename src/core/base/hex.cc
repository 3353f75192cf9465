#include "core/base/hex.h"

#include <array>
#include <openssl/evp.h>

#include "core/base/bytes.h"
#include "core/base/check.h"

namespace bellwether {

std::string hex(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) out += {kHexDigits[byte >> 4U], kHexDigits[byte & 15U]};
  return out;
}

std::string hex(uint64_t number, std::size_t digits) {
  std::string out(digits, '0');
  for (std::size_t i = digits; i-- > 0; number >>= 4U) out[i] = kHexDigits[number & 15U];
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = ascii_lower(c);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

std::string sha256_hex(std::string_view bytes) {
  std::array<char, 32> digest{};
  const int made = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
                              EVP_sha256(), nullptr);
  check(made == 1, "SHA-256 is part of OpenSSL");
  return hex(std::string_view(digest.data(), digest.size()));
}

}  // namespace bellwether
