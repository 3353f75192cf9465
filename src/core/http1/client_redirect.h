// The request after a redirect (RFC 9110 §15.4, and browsers): 301, 302 and 303 turn every method except GET and HEAD
// into GET without a body; 307 and 308 repeat the request. Credentials stay with their origin.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/http1/client.h"

namespace bellwether::http1 {

inline bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Owns the bytes of the next request.
struct RedirectedRequest {
  bool valid = false;  // false: `location` is no http or https URL
  bool tls = false;
  uint16_t port = 0;
  std::string host;
  std::string method;
  std::string target;
  std::string head;
  std::string body;

  // A view of it, without its origin. Valid while this object stays where it is.
  Request request(const CallLimits& limits, bool want_body) const;
};

// REQUIRES a redirect that names a location. Of the request's own cookies those go along that the redirect does not set
// anew. A Host that the user chose stays for a location without a host.
RedirectedRequest follow_redirect(const Request& request, const ResponseHead& redirect);

}  // namespace bellwether::http1
