// Settings of requests that mention nothing of what a run finds out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace bellwether::plan {

// A request that failed is sent again. Each time it is a request of its own, and counts as one.
struct Retry {
  uint16_t times = 0;              // at most, after the first
  Duration wait;                   // before each of them
  bool on_error = true;            // there was no response
  bool on_any_status = true;       // a response that counts as failed
  std::vector<uint16_t> statuses;  // or one with such a status, failed or not
};

// A proxy that requests go through (RFC 9110, section 3.7): http in absolute form, https in a tunnel.
struct Proxy {
  std::string host;  // a name or an address, without brackets
  uint16_t port = 0;
  std::string authorization;  // the value of Proxy-Authorization; empty: none. A secret
  bool operator==(const Proxy&) const = default;
};

// Which of them, by where a request goes. None: straight there.
struct Proxies {
  std::optional<Proxy> http;
  std::optional<Proxy> https;
  std::vector<std::string> except;  // lower case: hosts, and domains, which begin with a dot; "*": all
};

struct BodyFiles;  // body_files.h: of which each request sends one

}  // namespace bellwether::plan
