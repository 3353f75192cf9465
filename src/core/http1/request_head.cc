#include "core/http1/request_head.h"

#include "core/base/bytes.h"
#include "core/http1/head_fields.h"

namespace bellwether::http1 {
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
