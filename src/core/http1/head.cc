#include "core/http1/head.h"

#include <algorithm>

#include "core/base/bytes.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

namespace {

constexpr std::string_view kVersion = "HTTP/1.";

// Whether the bytes so far can begin a response.
bool plausible_start(std::string_view input) {
  const std::size_t n = input.size() < kVersion.size() ? input.size() : kVersion.size();
  return input.substr(0, n) == kVersion.substr(0, n);
}

// "HTTP/1.1 200 OK"; the reason phrase may be empty, and so may the space before it.
bool parse_status_line(std::string_view line, ResponseHead& out) {
  if (line.size() < 12 || !line.starts_with(kVersion)) return false;
  if ((line[7] != '1' && line[7] != '0') || line[8] != ' ') return false;
  if (!is_digit(line[9]) || !is_digit(line[10]) || !is_digit(line[11])) return false;
  if (line.size() > 12 && line[12] != ' ') return false;
  out.minor_version = line[7] - '0';
  out.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  return out.status >= 100;
}

Encoding encoding_of(std::string_view value) {
  if (iequals(value, "gzip") || iequals(value, "x-gzip")) return Encoding::kGzip;
  if (iequals(value, "br")) return Encoding::kBrotli;
  if (iequals(value, "zstd")) return Encoding::kZstd;
  if (iequals(value, "deflate")) return Encoding::kDeflate;
  if (value.find(',') != std::string_view::npos) return Encoding::kSeveral;
  // Words that servers write for no coding, among them names of character sets and of S3's framing.
  for (const std::string_view none :
       {"", "identity", "none", "binary", "7bit", "8bit", "utf-8", "utf8", "aws-chunked"}) {
    if (iequals(value, none)) return Encoding::kIdentity;
  }
  return Encoding::kUnknown;
}

// Adds the codings of a list. False: one is unknown, or they are too many.
bool add_codings(std::string_view list, bool of_transfer, Codings& out) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    const std::string_view token = trim(item);
    if (of_transfer && iequals(token, "chunked")) continue;
    const Encoding one = encoding_of(token);
    if (one == Encoding::kIdentity) continue;
    if (one == Encoding::kUnknown || out.count == kMaxCodings) return false;
    out.list[out.count++] = one;
  }
  return true;
}

bool is_folded(std::string_view line) { return line.front() == ' ' || line.front() == '\t'; }

// Reads fields up to the empty line and takes them off `text`. kMore: the text ends before it.
Parse parse_fields(std::string_view& text, ResponseHead& out, LengthFields& lengths, const char*& reason) {
  std::string_view line;
  while (true) {
    if (!take_line(text, line)) return Parse::kMore;
    if (line.empty()) return Parse::kDone;
    if (out.field_count == ResponseHead::kMaxFields) {
      if (is_folded(line)) return Parse::kFolded;
      reason = "more than 128 header fields";
      return Parse::kTooLarge;
    }
    Field& field = out.fields[out.field_count++];
    if (!split_field(line, field, reason)) [[unlikely]] {
      return is_folded(line) && out.field_count > 1 ? Parse::kFolded : Parse::kBad;
    }
    if (!lengths.note(field, reason)) return Parse::kBad;
    if (is_field(field.name, "location")) out.location = field.value;
    if (is_field(field.name, "set-cookie")) out.has_set_cookie = true;
    if (is_field(field.name, "content-encoding")) {
      // Two fields mean one coding over the other, as a list does.
      out.encoding = out.encoding == Encoding::kIdentity ? encoding_of(field.value) : Encoding::kSeveral;
    }
  }
}

// RFC 9112 §6.3.
bool decide_framing(const LengthFields& lengths, bool head_request, ResponseHead& out, const char*& reason) {
  using Framing = ResponseHead::Framing;
  out.keep_alive = out.minor_version == 1 ? !lengths.close : lengths.keep_alive && !lengths.close;
  if (lengths.has_transfer_encoding && lengths.content_length) {
    reason = "both Transfer-Encoding and Content-Length";  // the classic disagreement between two readers
    return false;
  }
  if (head_request || out.status < 200 || out.status == 204 || out.status == 304) {
    out.framing = Framing::kNone;
  } else if (lengths.has_transfer_encoding) {
    out.framing = lengths.chunked_last ? Framing::kChunked : Framing::kUntilClose;
  } else if (lengths.content_length) {
    out.framing = *lengths.content_length == 0 ? Framing::kNone : Framing::kLength;
    out.content_length = *lengths.content_length;
  } else {
    out.framing = Framing::kUntilClose;
  }
  if (lengths.other_coding) out.encoding = Encoding::kSeveral;
  // HTTP/1.0 knows no transfer codings: the bytes behind such a message cannot be trusted (RFC 9112 §6.1).
  const bool doubtful = lengths.has_transfer_encoding && out.minor_version == 0;
  if (out.framing == Framing::kUntilClose || doubtful) out.keep_alive = false;
  return true;
}

}  // namespace

std::string_view ResponseHead::header(std::string_view name) const {
  for (uint16_t i = 0; i < field_count; ++i) {
    if (iequals(fields[i].name, name)) return fields[i].value;
  }
  return {};
}

void unfold(char* input, std::size_t size) {
  std::string_view rest(input, size);
  std::string_view line;
  while (take_line(rest, line) && !line.empty()) {
    if (!rest.starts_with(' ') && !rest.starts_with('\t')) continue;
    char* const end = input + (size - rest.size());  // behind the line feed
    std::fill(input + (line.data() + line.size() - input), end, ' ');
  }
}

Codings codings_of(const ResponseHead& head) {
  Codings out;
  for (const bool of_transfer : {false, true}) {
    for (uint16_t i = 0; i < head.field_count; ++i) {
      const Field& field = head.fields[i];
      const bool fits = iequals(field.name, of_transfer ? "transfer-encoding" : "content-encoding");
      if (fits && !add_codings(field.value, of_transfer, out)) return {.list = {Encoding::kUnknown}, .count = 1};
    }
  }
  return out;
}

Parse parse_response_head(std::string_view input, bool head_request, std::size_t& scan_from, ResponseHead& out,
                          std::size_t& consumed, const char*& reason) {
  if (!plausible_start(input)) {
    reason = "not an HTTP/1 response";
    return Parse::kBad;
  }
  // The usual head arrives in one piece and is read in one pass. Only a head that comes in pieces is searched for its
  // end first, so that a slow server costs no more than the bytes it sends.
  if (scan_from != 0 && find_head_end(input, scan_from) == 0) {
    if (input.size() <= ResponseHead::kMaxBytes) return Parse::kMore;
    reason = "the head is larger than 64 KiB";
    return Parse::kTooLarge;
  }
  out.content_length = 0;
  out.encoding = Encoding::kIdentity;
  out.has_set_cookie = false;
  out.location = {};
  out.field_count = 0;
  LengthFields lengths;
  std::string_view text = input;
  std::string_view line;
  Parse result = Parse::kMore;
  if (take_line(text, line)) {
    if (!parse_status_line(line, out)) {
      reason = "a malformed status line";
      return Parse::kBad;
    }
    result = parse_fields(text, out, lengths, reason);
  }
  consumed = input.size() - text.size();
  if (consumed > ResponseHead::kMaxBytes || (result == Parse::kMore && input.size() > ResponseHead::kMaxBytes)) {
    reason = "the head is larger than 64 KiB";
    return Parse::kTooLarge;
  }
  if (result == Parse::kMore) find_head_end(input, scan_from);
  if (result != Parse::kDone) return result;
  if (has_smuggling_bytes(input.substr(0, consumed))) {
    reason = "a control character in the head";
    return Parse::kBad;
  }
  return decide_framing(lengths, head_request, out, reason) ? Parse::kDone : Parse::kBad;
}

namespace {

constexpr std::string_view kRequestVersion = "HTTP/1.";
constexpr std::size_t kMaxEmptyLines = 16;  // bytes of them; old clients send one after a body

bool is_target_char(char c) { return static_cast<unsigned char>(c) > ' ' && c != '\x7f'; }

// Path and query of the target, in any form (RFC 9112 §3.2).
void split_target(RequestHead& out) {
  std::string_view rest = out.target;
  if (rest[0] != '/') {
    const std::size_t scheme = rest.find("://");
    if (scheme != std::string_view::npos) {
      const std::size_t path = rest.find_first_of("/?", scheme + 3);
      rest = path == std::string_view::npos ? std::string_view("/") : rest.substr(path);
    }
  }
  rest = rest.substr(0, rest.find('#'));
  const std::size_t mark = rest.find('?');
  out.path = rest.substr(0, mark);
  out.query = mark == std::string_view::npos ? std::string_view() : rest.substr(mark + 1);
  if (out.path.empty()) out.path = "/";
}

// "GET /path HTTP/1.1", with exactly one space between the parts.
bool parse_request_line(std::string_view line, RequestHead& out) {
  std::size_t at = 0;
  while (at < line.size() && is_token_char(line[at])) ++at;
  if (at == 0 || at == line.size() || line[at] != ' ') return false;
  out.method = line.substr(0, at);
  const std::size_t begin = ++at;
  while (at < line.size() && is_target_char(line[at])) ++at;
  if (at == begin || at == line.size() || line[at] != ' ') return false;
  out.target = line.substr(begin, at - begin);
  const std::string_view version = line.substr(at + 1);
  if (version.size() != kRequestVersion.size() + 1 || !version.starts_with(kRequestVersion)) return false;
  if (version.back() != '0' && version.back() != '1') return false;
  out.minor_version = version.back() - '0';
  split_target(out);
  return true;
}

// Reads fields up to the empty line and takes them off `text`. kMore: the text ends before it.
Parse parse_fields(std::string_view& text, RequestHead& out, LengthFields& lengths, int& hosts, const char*& reason) {
  std::string_view line;
  while (true) {
    if (!take_line(text, line)) return Parse::kMore;
    if (line.empty()) return Parse::kDone;
    if (out.field_count == RequestHead::kMaxFields) {
      reason = "more than 128 header fields";
      return Parse::kTooLarge;
    }
    Field& field = out.fields[out.field_count++];
    if (!split_field(line, field, reason) || !lengths.note(field, reason)) return Parse::kBad;
    if (is_field(field.name, "host")) ++hosts;
    if (is_field(field.name, "expect")) out.expect_continue = iequals(field.value, "100-continue");
  }
}

// RFC 9112 §3.2 and §6.3.
bool decide_framing(const LengthFields& lengths, int hosts, RequestHead& out, const char*& reason) {
  using Framing = RequestHead::Framing;
  out.keep_alive = out.minor_version == 1 ? !lengths.close : lengths.keep_alive && !lengths.close;
  if (hosts > 1 || (hosts == 0 && out.minor_version == 1)) {
    reason = hosts == 0 ? "no Host" : "more than one Host";
    return false;
  }
  if (lengths.has_transfer_encoding) {
    if (lengths.content_length || !lengths.chunked_last || out.minor_version == 0) {
      reason = lengths.content_length ? "both Transfer-Encoding and Content-Length" : "a body without a known end";
      return false;
    }
    out.framing = Framing::kChunked;
  } else if (lengths.content_length.value_or(0) != 0) {
    out.framing = Framing::kLength;
    out.content_length = *lengths.content_length;
  }
  return true;
}

}  // namespace

std::string_view RequestHead::header(std::string_view name) const {
  for (uint16_t i = 0; i < field_count; ++i) {
    if (iequals(fields[i].name, name)) return fields[i].value;
  }
  return {};
}

Parse parse_request_head(std::string_view input, std::size_t& scan_from, RequestHead& out, std::size_t& consumed,
                         const char*& reason) {
  std::string_view text = input;
  while (text.starts_with('\n') || text.starts_with("\r\n")) text.remove_prefix(text[0] == '\n' ? 1 : 2);
  const std::size_t skipped = input.size() - text.size();
  if (skipped > kMaxEmptyLines) {
    reason = "empty lines instead of a request";
    return Parse::kBad;
  }
  if (text.empty() || text == "\r") return Parse::kMore;
  if (!is_token_char(text[0])) {
    reason = "not an HTTP/1 request";
    return Parse::kBad;
  }
  if (scan_from < skipped) scan_from = 0;
  // As with responses: only a head that comes in pieces is searched for its end before it is read.
  if (scan_from != 0 && find_head_end(input, scan_from) == 0) {
    if (input.size() <= RequestHead::kMaxBytes) return Parse::kMore;
    reason = "the head is larger than 64 KiB";
    return Parse::kTooLarge;
  }
  out.framing = RequestHead::Framing::kNone;
  out.content_length = 0;
  out.expect_continue = false;
  out.field_count = 0;
  LengthFields lengths;
  int hosts = 0;
  std::string_view line;
  Parse result = Parse::kMore;
  if (take_line(text, line)) {
    if (!parse_request_line(line, out)) {
      reason = "a malformed request line";
      return Parse::kBad;
    }
    result = parse_fields(text, out, lengths, hosts, reason);
  }
  consumed = input.size() - text.size();
  if (consumed > RequestHead::kMaxBytes || (result == Parse::kMore && input.size() > RequestHead::kMaxBytes)) {
    reason = "the head is larger than 64 KiB";
    return Parse::kTooLarge;
  }
  if (result == Parse::kMore) {
    if (scan_from < skipped) scan_from = skipped;
    find_head_end(input, scan_from);
  }
  if (result != Parse::kDone) return result;
  if (has_smuggling_bytes(input.substr(0, consumed))) {
    reason = "a control character in the head";
    return Parse::kBad;
  }
  return decide_framing(lengths, hosts, out, reason) ? Parse::kDone : Parse::kBad;
}

}  // namespace bellwether::http1
