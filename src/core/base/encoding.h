// Bytes as text and back: hexadecimal, Base64, percent-encoding, JSON strings, labels of metrics, and text that is fit
// for a terminal.
#pragma once

#include <cstddef>
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

// With its ASCII letters in lower case.
std::string lower_case(std::string_view text);

// Replaces control characters, those of the second block too, by '?', so that no name or message can steer a terminal.
std::string printable(std::string_view text);

// Characters in UTF-8 (RFC 3629).

// The bytes of the character that `text`, which is not empty, begins with; 0 when it begins with none.
std::size_t utf8_length(std::string_view text);

// Text as one word of a command line.

// For a POSIX shell, in quotes where it needs them.
std::string shell_word(std::string_view text);

// Texts that JSON can hold unchanged.

// Well-formed UTF-8: shortest forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

// Text from anywhere as one line of well-formed UTF-8, of at most `bytes_most` bytes: unprintable or broken characters
// become '?'.
std::string utf8_line(std::string_view text, std::size_t bytes_most);

// Texts of any bytes as labels of metrics in the text format of Prometheus (version 0.0.4).

// The value of a label. Bytes that are not UTF-8, and control characters except the line feed, appear as \xNN, so that
// no text makes a page of metrics unreadable. Alert rules that name a label use the same.
std::string label_text(std::string_view text);
// The same as it stands between quotes on a page of metrics.
std::string label_value(std::string_view text);
// name="value"
std::string metric_label(std::string_view name, std::string_view value);
// The shortest text that reads back as the same number.
std::string metric_number(double value);

}  // namespace bellwether
