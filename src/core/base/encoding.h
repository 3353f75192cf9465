// Bytes as text and back: hexadecimal, Base64, percent-encoding, JSON strings, and text that is fit for a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bellwether {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

// Two digits a byte.
std::string hex(std::string_view bytes);
// `digits` digits, with zeros in front. REQUIRES digits <= 16; leaves out higher digits.
std::string hex(uint64_t number, std::size_t digits = 16);
// 0 to 15, of digits in either case; -1: it is none.
int hex_digit(char c);
// SHA-256 (FIPS 180-4) as 64 digits.
std::string sha256_hex(std::string_view bytes);

// Base64 (RFC 4648 §4), in which JSON carries bytes.
void append_base64(std::string_view bytes, std::string& out);
std::string base64_of(std::string_view bytes);
// Skips bytes that are no digits, so that any layout is readable.
std::string bytes_of_base64(std::string_view text);

// Percent-encoding (RFC 3986, section 2.1). Nothing when a '%' is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);
// Only unreserved characters (section 2.3) stand for themselves.
void append_percent_encoded(std::string_view text, std::string& out);

// The text between the quotes of a string in JSON (RFC 8259, section 7).
void append_json_text(std::string_view text, std::string& out);

// Replaces control characters but tabs, those of the second block too, by '?': no name or message steers a terminal.
std::string printable(std::string_view text);

}  // namespace bellwether
