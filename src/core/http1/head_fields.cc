#include "core/http1/head_fields.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <array>
#include <cstring>

#include "core/base/bytes.h"

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

namespace {

// How many bytes of token characters `line` begins with, when a colon ends them; 0 when it does not.
std::size_t name_size_of(std::string_view line) {
#if defined(__SSE2__)
  // The usual name is short and made of letters, digits and hyphens: sixteen bytes are compared together.
  if (line.size() >= 16) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(line.data()));
    const auto within = [](__m128i bytes, char low, char high) {
      return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8(static_cast<char>(low - 1))),
                           _mm_cmplt_epi8(bytes, _mm_set1_epi8(static_cast<char>(high + 1))));
    };
    const __m128i letters = within(_mm_or_si128(text, _mm_set1_epi8(0x20)), 'a', 'z');
    const __m128i others = _mm_or_si128(within(text, '0', '9'), _mm_cmpeq_epi8(text, _mm_set1_epi8('-')));
    const int usual = _mm_movemask_epi8(_mm_or_si128(letters, others));
    const int unusual = ~usual & 0xffff;
    if (unusual != 0) {
      const auto first = static_cast<std::size_t>(__builtin_ctz(static_cast<unsigned>(unusual)));
      if (line[first] == ':') return first;
    }
  }
#endif
  std::size_t size = 0;
  while (size < line.size() && is_token_char(line[size])) ++size;
  return size < line.size() && line[size] == ':' ? size : 0;
}

}  // namespace

bool split_field(std::string_view line, Field& field, const char*& reason) {
  const std::size_t name_size = name_size_of(line);
  if (name_size == 0) [[unlikely]] {
    const bool named = line.find(':') != std::string_view::npos && line.front() != ':';
    const bool folded = line.front() == ' ' || line.front() == '\t';
    reason = !named   ? "a header line without a name and a colon"
             : folded ? "a folded header line"
                      : "a header name with characters it may not have";
    return false;
  }
  field.name = line.substr(0, name_size);
  std::string_view value = line.substr(name_size + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  if (!value.empty() && (is_blank(value.front()) || is_blank(value.back()))) value = trim(value);
  field.value = value;
  return true;
}

bool has_smuggling_bytes(std::string_view head) {
  std::size_t at = 0;
#if defined(__SSE2__)
  const __m128i cr = _mm_set1_epi8('\r');
  const __m128i lf = _mm_set1_epi8('\n');
  const __m128i zero = _mm_setzero_si128();
  __m128i wrong = zero;
  const auto look_at = [&](std::size_t place) {
    const __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(head.data() + place));
    const __m128i next = _mm_loadu_si128(reinterpret_cast<const __m128i*>(head.data() + place + 1));
    const __m128i lone_cr = _mm_andnot_si128(_mm_cmpeq_epi8(next, lf), _mm_cmpeq_epi8(here, cr));
    wrong = _mm_or_si128(wrong, _mm_or_si128(lone_cr, _mm_cmpeq_epi8(here, zero)));
  };
  if (head.size() >= 17) {
    for (; at + 17 <= head.size(); at += 16) look_at(at);
    look_at(head.size() - 17);  // the rest, with some bytes that were seen already; the last one is a line feed
    at = head.size();
  }
  if (_mm_movemask_epi8(wrong) != 0) return true;
#endif
  for (; at < head.size(); ++at) {
    if (head[at] == '\0') return true;
    if (head[at] == '\r' && (at + 1 == head.size() || head[at + 1] != '\n')) return true;
  }
  return false;
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
  // The length of a name is compared first: most fields are none of these.
  switch (field.name.size()) {
    case 10:
      if (!is_field(field.name, "connection")) return true;
      if (field.value == "keep-alive") {
        keep_alive = true;
        return true;
      }
      close |= list_has(field.value, "close");
      keep_alive |= list_has(field.value, "keep-alive");
      return true;
    case 14: {
      if (!is_field(field.name, "content-length")) return true;
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
      if (!is_field(field.name, "transfer-encoding")) return true;
      has_transfer_encoding = true;
      chunked_last = last_is_chunked(field.value);
      if (!iequals(field.value, "chunked") && !iequals(field.value, "identity")) other_coding = true;
      return true;
    default: return true;
  }
}

}  // namespace bellwether::http1
