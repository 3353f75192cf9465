// http and https URLs (RFC 3986, RFC 9110 §4.2), as far as a client that sends requests needs them. Refuses characters
// that could change a request line (spaces, control characters).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bellwether::http1 {

// Views into the text it was split from.
struct UrlView {
  bool tls = false;
  std::string_view host;       // without the brackets of an IPv6 address
  uint16_t port = 0;           // 80 or 443 when the text has none
  std::string_view target;     // path and query; may be empty or begin with '?'
  std::string_view authority;  // host and port as written: the Host field
};

struct Url {
  bool tls = false;
  std::string host;
  uint16_t port = 0;
  std::string path_and_query;  // begins with '/'
  std::string authority;
};

// kOk, or kInvalid. A fragment is dropped; user names and passwords are refused. Allocates nothing.
Errc split_url(std::string_view text, UrlView& out);

// The same with an error that names the fault.
Result<Url> parse_url(std::string_view text);

// Host and port as in the Host field: with brackets where they are needed, and the port if it is not the scheme's.
std::string authority_of(bool tls, std::string_view host, uint16_t port);

// The URL that `reference` means in a document at `base`, without its fragment, as browsers read it (RFC 3986 §5 and
// the URL standard): blanks around it are ignored, backslashes are slashes, characters that must not be sent become
// escapes, and a host in other letters becomes ASCII. Error: it is no http or https URL.
Result<Url> resolve(const Url& base, std::string_view reference);

}  // namespace bellwether::http1
