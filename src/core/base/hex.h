// Hexadecimal digits, of bytes and of numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bellwether {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

// Two digits a byte.
std::string hex(std::string_view bytes);
// So many digits, with zeros in front. REQUIRES digits <= 16; what does not fit is left out.
std::string hex(uint64_t number, std::size_t digits = 16);

// 0 to 15, of digits in either case; -1: it is none.
int hex_digit(char c);

// SHA-256 (FIPS 180-4) as 64 digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace bellwether
