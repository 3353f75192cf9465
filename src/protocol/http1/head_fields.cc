#include "protocol/http1/head_fields.h"

#include <array>
#include <cstring>

#include "base/bytes.h"

namespace bellwether::http1 {
namespace {

constexpr auto kTokenChars = [] {
  std::array<bool, 256> table{};
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = true;
  for (unsigned c = 'A'; c <= 'Z'; ++c) table[c] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

bool last_is_chunked(std::string_view list) {
  const std::size_t comma = list.rfind(',');
  return iequals(trim(comma == std::string_view::npos ? list : list.substr(comma + 1)), "chunked");
}

}  // namespace

bool is_token_char(char c) { return kTokenChars[static_cast<unsigned char>(c)]; }

std::size_t find_head_end(std::string_view input, std::size_t& scan_from) {
  std::size_t at = scan_from;
  while (at < input.size()) {
    const void* found = std::memchr(input.data() + at, '\n', input.size() - at);
    if (found == nullptr) break;
    const auto line_feed = static_cast<std::size_t>(static_cast<const char*>(found) - input.data());
    std::size_t next = line_feed + 1;
    if (next < input.size() && input[next] == '\r') ++next;
    if (next >= input.size()) {
      scan_from = line_feed;  // the line end may be the last before the empty line: look at it again
      return 0;
    }
    if (input[next] == '\n') return next + 1;
    at = line_feed + 1;
  }
  scan_from = input.size();
  return 0;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool split_field(std::string_view line, Field& field, const char*& reason) {
  std::size_t colon = 0;
  while (colon < line.size() && is_token_char(line[colon])) ++colon;
  if (colon == 0 || colon == line.size() || line[colon] != ':') {
    const bool folded = !line.empty() && (line[0] == ' ' || line[0] == '\t');
    reason = folded ? "a folded header line" : "a header line without a name and a colon";
    return false;
  }
  field.name = line.substr(0, colon);
  field.value = trim(line.substr(colon + 1));
  // Bare CR and NUL inside a value are how responses are split and smuggled.
  if (std::memchr(field.value.data(), '\r', field.value.size()) != nullptr ||
      std::memchr(field.value.data(), '\0', field.value.size()) != nullptr) {
    reason = "a control character in a header value";
    return false;
  }
  return true;
}

bool list_has(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    if (iequals(trim(item), token)) return true;
    list.remove_prefix(item.size() == list.size() ? item.size() : item.size() + 1);
  }
  return false;
}

bool LengthFields::note(const Field& field, const char*& reason) {
  // Names are told apart by their length first: most fields are none of these.
  switch (field.name.size()) {
    case 10:
      if (!iequals(field.name, "connection")) return true;
      close |= list_has(field.value, "close");
      keep_alive |= list_has(field.value, "keep-alive");
      return true;
    case 14: {
      if (!iequals(field.name, "content-length")) return true;
      const auto length = parse_u64(field.value);
      if (!length) {
        reason = "a Content-Length that is no number";
        return false;
      }
      if (content_length && *content_length != *length) {
        reason = "two different Content-Lengths";
        return false;
      }
      content_length = *length;
      return true;
    }
    case 17:
      if (!iequals(field.name, "transfer-encoding")) return true;
      has_transfer_encoding = true;
      chunked_last = last_is_chunked(field.value);
      return true;
    default: return true;
  }
}

}  // namespace bellwether::http1
