// The head of an HTTP/1.1 request (RFC 9112): strict, without copies or allocation. For the servers of the product: the
// test target and the interface of the controller.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/http1/response_head.h"

namespace bellwether::http1 {

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

}  // namespace bellwether::http1
