#include "core/base/base64.h"

#include <cstdint>

namespace bellwether {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

void append_base64(std::string_view bytes, std::string& out) {
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out.push_back(i + k <= bytes.size() ? kAlphabet[group >> (18 - 6 * k) & 63] : '=');
    }
  }
}

std::string base64_of(std::string_view bytes) {
  std::string out;
  append_base64(bytes, out);
  return out;
}

std::string bytes_of_base64(std::string_view encoded) {
  std::string out;
  uint32_t group = 0;
  int bits = 0;
  for (const char c : encoded) {
    const auto digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) continue;
    group = group << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out.push_back(static_cast<char>(group >> bits & 255));
  }
  return out;
}

}  // namespace bellwether
