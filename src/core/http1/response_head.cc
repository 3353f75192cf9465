#include "core/http1/response_head.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/http1/head_fields.h"

namespace bellwether::http1 {
namespace {

constexpr std::string_view kVersion = "HTTP/1.";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

}  // namespace bellwether::http1
