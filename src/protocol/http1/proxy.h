// The proxies that requests go through (RFC 9110, section 3.7): http in absolute form, https in a tunnel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bellwether::http1 {

struct Proxy {
  std::string host;  // a name or an address, without brackets
  uint16_t port = 0;
  std::string authorization;  // the value of Proxy-Authorization; empty: none. A secret
  bool operator==(const Proxy&) const = default;
};

struct Proxies {
  std::optional<Proxy> http;
  std::optional<Proxy> https;
  std::vector<std::string> except;  // lower case: hosts with all below them, and domains, which begin with a dot;
                                    // "*": all

  // nullptr: straight to the server. Valid as long as this object stays where it is.
  const Proxy* find(bool tls, std::string_view host) const;
};

// The head of the request that opens a tunnel, whole. `host` without brackets.
std::string connect_head(std::string_view host, uint16_t port, const Proxy& proxy);

}  // namespace bellwether::http1
