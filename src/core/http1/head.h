// The heads of HTTP/1.1 messages (RFC 9112): strict, without copies or allocation. Bytes from the other side are
// hostile until this code has checked them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace bellwether::http1 {

enum class Parse : uint8_t { kDone, kMore, kBad, kTooLarge, kFolded };

// kSeveral: one coding over the other, and codings of the transfer; codings_of() says which.
enum class Encoding : uint8_t { kIdentity, kGzip, kDeflate, kBrotli, kZstd, kSeveral, kUnknown };

struct Field {
  std::string_view name;
  std::string_view value;
};

// The facts of a head that do not refer to its bytes.
struct ResponseFacts {
  enum class Framing : uint8_t {
    kNone,    // no body: HEAD, 1xx, 204, 304
    kLength,  // content_length bytes
    kChunked,
    kUntilClose,
  };

  int status = 0;  // 100..999; above 599 a failure of the server (RFC 9110 §15)
  int minor_version = 1;
  Framing framing = Framing::kNone;
  uint64_t content_length = 0;  // kLength only
  bool keep_alive = false;
  Encoding encoding = Encoding::kIdentity;
  bool has_set_cookie = false;
};

struct ResponseHead : ResponseFacts {
  static constexpr std::size_t kMaxFields = 128;
  static constexpr std::size_t kMaxBytes = 64 * 1024;

  std::string_view location;  // of a redirect; empty when absent
  uint16_t field_count = 0;
  std::array<Field, kMaxFields> fields;  // in order, views into the input

  // The first field of this name, in any case; a view without data when absent.
  std::string_view header(std::string_view name) const;
};

// Reads a head from the beginning of `input`.
//   kDone: `out` is complete, its views point into `input`, and the body begins at `consumed`.
//   kMore: call again with more bytes behind the same ones; `scan_from` keeps the place (0 at first).
//   kBad, kTooLarge: `reason` says what is wrong.
//   kFolded: call again after unfold() of the same bytes, with the same `scan_from`.
// `head_request`: the request was HEAD, so the response has no body, regardless of its fields. A malformed head is
// refused at its first wrong byte. Line ends are CR LF or a bare LF (RFC 9112 §2.2); a bare CR and
// contradicting or ambiguous lengths are refused.
Parse parse_response_head(std::string_view input, bool head_request, std::size_t& scan_from, ResponseHead& out,
                          std::size_t& consumed, const char*& reason);

// Replaces the line ends within fields by spaces (RFC 9112 §5.2), in the head with which `input` begins.
void unfold(char* input, std::size_t size);

// The codings of the body that are to be undone, the last one applied last, without those that change nothing. A single
// kUnknown when one of them is unknown, or they are more than kMaxCodings.
constexpr std::size_t kMaxCodings = 4;
struct Codings {
  std::array<Encoding, kMaxCodings> list{};
  std::size_t count = 0;
};
Codings codings_of(const ResponseHead& head);

// The head of an HTTP/1.1 request (RFC 9112): strict, without copies or allocation. For the servers of the product: the
// test target and the interface of the controller.
struct RequestHead {
  static constexpr std::size_t kMaxFields = 128;
  static constexpr std::size_t kMaxBytes = 64 * 1024;

  enum class Framing : uint8_t {
    kNone,    // no body
    kLength,  // content_length bytes, at least one
    kChunked,
  };

  std::string_view method;
  std::string_view target;  // as sent: /path?query, http://host/path, * or host:port
  std::string_view path;    // of the target, without the query; "*" and host:port stay as they are
  std::string_view query;   // without the question mark
  int minor_version = 1;
  Framing framing = Framing::kNone;
  uint64_t content_length = 0;  // kLength only
  bool keep_alive = true;
  bool expect_continue = false;
  uint16_t field_count = 0;
  std::array<Field, kMaxFields> fields;  // in order, views into the input

  // The first field of this name, in any case; a view without data when absent.
  std::string_view header(std::string_view name) const;
};

// Reads a head from the beginning of `input`; a few empty lines before it are skipped (RFC 9112 §2.2).
//   kDone: `out` is complete, its views point into `input`, and the body begins at `consumed`.
//   kMore: call again with more bytes behind the same ones; `scan_from` keeps the place (0 at first).
//   kBad, kTooLarge: `reason` says what is wrong.
// Refused besides what a response head may not have: a missing or doubled Host in HTTP/1.1, a Transfer-Encoding that
// does not end in chunked or comes with HTTP/1.0, and control characters in the target.
Parse parse_request_head(std::string_view input, std::size_t& scan_from, RequestHead& out, std::size_t& consumed,
                         const char*& reason);

// The common parts of request and response heads: lines, fields, and the lists within fields. Private to the codec.

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
