#include "load/report/markup.h"

#include <cstdint>

namespace bellwether::report {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The bytes of the character that begins at `at`, 0 when none does. Overlong forms and surrogates are none.
std::size_t character_at(std::string_view text, std::size_t at, uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  std::size_t size = 1;
  if (first >= 0xf0 && first < 0xf5) {
    size = 4;
  } else if (first >= 0xe0 && first < 0xf0) {
    size = 3;
  } else if (first >= 0xc2 && first < 0xe0) {
    size = 2;
  } else if (first >= 0x80) {
    return 0;
  }
  if (at + size > text.size()) return 0;
  code = size == 1 ? first : first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80) return 0;
    code = (code << 6U) | (byte(at + i) & 0x3fU);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return overlong || surrogate || code > 0x10ffff ? 0 : size;
}

bool in_xml(uint32_t code) {
  return code == '\t' || code == '\n' || (code >= 0x20 && code != 0x7f && code != 0xfffe && code != 0xffff);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    uint32_t code = 0;
    const std::size_t size = character_at(text, at, code);
    if (size == 0 || !in_xml(code)) {
      out += kReplacement;
    } else if (code == '&') {
      out += "&amp;";
    } else if (code == '<') {
      out += "&lt;";
    } else if (code == '>') {
      out += "&gt;";
    } else if (code == '"') {
      out += "&quot;";
    } else if (code == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(at, size);
    }
    at += size == 0 ? 1 : size;
  }
  return out;
}

}  // namespace bellwether::report
