#include "core/base/encoding.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <openssl/evp.h>

#include "core/base/bytes.h"
#include "core/base/check.h"

namespace bellwether {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

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

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = ascii_lower(c);
  return out;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

void append_percent_encoded(std::string_view text, std::string& out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
}

void append_json_text(std::string_view text, std::string& out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    // The second control block is U+0080 to U+009F: 0xC2 and 0x80 to 0x9F.
    const auto next = static_cast<unsigned char>(i + 1 < out.size() ? out[i + 1] : 0);
    const bool second_block = c == 0xC2 && next >= 0x80 && next < 0xA0;
    if (second_block) out.erase(i, 1);
    if (second_block || c < 0x20 || c == 0x7F) out[i] = '?';
  }
  return out;
}

std::size_t utf8_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80         ? 1
                             : (first >> 5) == 6  ? 2
                             : (first >> 4) == 14 ? 3
                             : (first >> 3) == 30 ? 4
                                                  : 0;
  if (length == 0 || length > text.size()) return 0;
  uint32_t code = length == 1 ? first : first & (0xffu >> (length + 1));
  for (std::size_t k = 1; k < length; ++k) {
    const auto next = static_cast<unsigned char>(text[k]);
    if ((next & 0xc0) != 0x80) return 0;
    code = (code << 6) | (next & 0x3fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
  return length;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@%+";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string utf8_line(std::string_view text, std::size_t bytes_most) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (out.size() + std::max<std::size_t>(length, 1) > bytes_most) break;
    out += length == 0 ? "?" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return printable(out);
}

std::string label_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = utf8_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (size == 0 || (first < 0x20 && first != '\n') || first == 0x7f) {
      out += "\\x" + hex(first, 2);
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : label_text(text)) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string metric_label(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, label_value(value));
}

std::string metric_number(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace bellwether
