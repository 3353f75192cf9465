// Numbers as text, appended to a text.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

namespace bellwether::vuser {

template <class Number>
void append_number(Number value, std::string& out) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

// With zeros in front up to `digits`, at most 20.
inline void append_padded(uint64_t value, unsigned digits, std::string& out) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  const auto length = static_cast<unsigned>(end - text);
  if (length < digits) out.append(digits - length, '0');
  out.append(text, end);
}

// `value` in units of 10^-decimals: (-1250, 2) is "-12.50".
inline void append_decimal(int64_t value, unsigned decimals, std::string& out) {
  uint64_t unit = 1;
  for (unsigned i = 0; i < decimals; ++i) unit *= 10;
  const uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (value < 0) out += '-';
  append_number(size / unit, out);
  if (decimals == 0) return;
  out += '.';
  append_padded(size % unit, decimals, out);
}

}  // namespace bellwether::vuser
