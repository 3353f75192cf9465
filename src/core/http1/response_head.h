// The head of an HTTP/1.1 response (RFC 9112): strict, without copies or allocation. Bytes from a server under test are
// hostile until this code has checked them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

}  // namespace bellwether::http1
