// Views of raw bytes and small helpers on text, all without allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace bellwether {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline Bytes as_bytes(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }
inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z'; }
constexpr bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }
// Whether a text of 1 to `most` bytes has only ASCII letters, digits and some of `marks`.
constexpr bool is_word_of(std::string_view text, std::string_view marks, std::size_t most = SIZE_MAX) {
  for (const char c : text) {
    if (!is_letter_or_digit(c) && marks.find(c) == std::string_view::npos) return false;
  }
  return !text.empty() && text.size() <= most;
}
// Equality that ignores the case of ASCII letters (header names, schemes).
inline bool iequals(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (ascii_lower(a[i]) != ascii_lower(b[i])) return false;
  }
  return true;
}
// Without leading and trailing spaces and tabs.
inline std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}
// The text before the first separator, or all of it; taken off `rest` together with the separator.
inline std::string_view take_until(std::string_view& rest, char separator) {
  const std::string_view first = rest.substr(0, rest.find(separator));
  rest.remove_prefix(first.size() + (first.size() < rest.size() ? 1 : 0));
  return first;
}
// A decimal number that fills the whole text and fits; nothing otherwise.
std::optional<uint64_t> parse_u64(std::string_view text);
std::optional<double> parse_double(std::string_view text);
// The candidate nearest to `word` by edit distance, when near enough to be a likely typo; empty otherwise.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace bellwether
