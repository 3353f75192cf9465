// What heads of requests and responses have in common: lines, fields, and the lists within fields. Private to the
// codec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "protocol/http1/response_head.h"

namespace bellwether::http1 {

// The length of the head, with its empty line, when `input` holds all of it; 0 when not. Looks only at what it has not
// seen, from `scan_from` on, and moves that forward.
std::size_t find_head_end(std::string_view input, std::size_t& scan_from);

// Takes the first line, without its line end, off `text`. REQUIRES a line end in `text`.
std::string_view take_line(std::string_view& text);

// Splits "Name: value". False, with the reason, when the line is no field.
bool split_field(std::string_view line, Field& field, const char*& reason);

// Whether a comma-separated list holds this token, whatever its case.
bool list_has(std::string_view list, std::string_view token);

// What the fields say about the length of the body; both kinds of head collect it the same way.
struct LengthFields {
  std::optional<uint64_t> content_length;
  bool has_transfer_encoding = false;
  bool chunked_last = false;
  bool close = false;       // Connection: close
  bool keep_alive = false;  // Connection: keep-alive

  // Looks at one field. False, with the reason, when it is malformed or contradicts an earlier one.
  bool note(const Field& field, const char*& reason);
};

bool is_token_char(char c);

}  // namespace bellwether::http1
