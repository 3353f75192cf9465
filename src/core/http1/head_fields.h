// The common parts of request and response heads: lines, fields, and the lists within fields. Private to the codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/http1/response_head.h"

namespace bellwether::http1 {

// The length of the head, with its empty line, when `input` holds all of it; 0 when not. Reads only new bytes, from
// `scan_from` on, and moves that forward.
std::size_t find_head_end(std::string_view input, std::size_t& scan_from);

// Takes the first line, without its line end, off `text`. False when `text` has no line end.
inline bool take_line(std::string_view& text, std::string_view& line) {
  const auto* end = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
  if (end == nullptr) return false;
  const auto length = static_cast<std::size_t>(end - text.data());
  line = text.substr(0, length != 0 && text[length - 1] == '\r' ? length - 1 : length);
  text.remove_prefix(length + 1);
  return true;
}

// Splits "Name: value". False, with the reason, when the line is no field.
bool split_field(std::string_view line, Field& field, const char*& reason);

// Whether a head holds a CR that does not belong to a line end, or a NUL, which can split and smuggle messages.
// REQUIRES a head that ends with a line feed.
bool has_smuggling_bytes(std::string_view head);

// Whether a name is this one, given in lower case letters and hyphens. REQUIRES a name of token characters, among which
// setting the sixth bit changes nothing but the case of letters (and, harmlessly, '^' to '~').
template <std::size_t kSize>
bool is_field(std::string_view name, const char (&lower)[kSize]) {
  if (name.size() != kSize - 1) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < kSize - 1; ++i) different |= static_cast<unsigned char>((name[i] | 0x20) ^ lower[i]);
  return different == 0;
}

// Whether a comma-separated list holds this token, in any case.
bool list_has(std::string_view list, std::string_view token);

// The fields about the length of the body; both kinds of head collect them the same way.
struct LengthFields {
  std::optional<uint64_t> content_length;
  bool has_transfer_encoding = false;
  bool chunked_last = false;
  bool other_coding = false;  // a transfer coding that changes the body, such as gzip
  bool close = false;         // Connection: close
  bool keep_alive = false;    // Connection: keep-alive

  // Looks at one field. False, with the reason, when it is malformed or contradicts an earlier one.
  bool note(const Field& field, const char*& reason);
};

bool is_token_char(char c);

}  // namespace bellwether::http1
