// Digest access authentication (RFC 7616; RFC 2617 servers too): MD5, SHA-256 and their -sess variants, qop auth or
// none. Pure: the sender draws the client's nonce.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/http1/head.h"

namespace bellwether::http1 {

struct DigestChallenge {
  std::string realm;
  std::string nonce;
  std::string opaque;
  std::string algorithm;  // as the server wrote it; empty: it did not, which means MD5
  bool sha256 = false;
  bool session = false;   // a -sess variant
  bool qop_auth = false;  // else the answer has no qop, as in RFC 2069
  bool stale = false;     // only the nonce was wrong
};

// The best supported challenge of a 401: SHA-256 before MD5. Nothing when none is supported.
std::optional<DigestChallenge> digest_challenge(const ResponseHead& head);

struct DigestAnswer {
  std::string_view user;
  std::string_view password;
  std::string_view method;
  std::string_view target;  // path and query, as in the request line
  std::string_view client_nonce;
  uint32_t count = 1;  // requests with this nonce of the server, this one included
};
// Appends the value of the header Authorization.
void append_digest(const DigestChallenge& challenge, const DigestAnswer& answer, std::string& out);

}  // namespace bellwether::http1
