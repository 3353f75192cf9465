// The address of a listener, as people write it: a name or an address, and a port; and the proxies on the way to it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace bellwether {

struct HostPort {
  std::string host;  // without brackets
  uint16_t port = 0;
  auto operator<=>(const HostPort&) const = default;
};

// "10.0.0.1:9000", "[::1]:9000", "manager.example:9000"; without a port, `default_port`. An IPv6 address without
// brackets is refused, because its last part could be a port. kInvalid names the fault.
Result<HostPort> parse_host_port(std::string_view text, uint16_t default_port);
// In that form, with brackets where they are needed.
std::string to_string(const HostPort& place);

// An error without "connecting to PLACE: " at its begin, for a text that names the place already.
std::string_view without_place(const HostPort& place, std::string_view error);

// "127.0.0.1", "::1" (without brackets), in the order of the net. IPv4 in its IPv6-mapped form, ::ffff:a.b.c.d.
Result<std::array<uint8_t, 16>> parse_ip(std::string_view text);
bool is_v4(const std::array<uint8_t, 16>& ip);

// A proxy that requests go through (RFC 9110, section 3.7): http in absolute form, https in a tunnel.
struct Proxy {
  std::string host;  // a name or an address, without brackets
  uint16_t port = 0;
  std::string authorization;  // the value of Proxy-Authorization; empty: none. A secret
  bool operator==(const Proxy&) const = default;
};

// The proxies by the target's scheme. None: a direct connection.
struct Proxies {
  std::optional<Proxy> http;
  std::optional<Proxy> https;
  std::vector<std::string> except;  // lower case: hosts with all below them, and domains, which begin with a dot;
                                    // "*": all

  // nullptr: straight to the server. Valid as long as this object stays where it is.
  const Proxy* find(bool tls, std::string_view host) const;
};

// Names of hosts in letters beyond ASCII.

// The name in the letters of the DNS (IDNA 2008 with the mapping of UTS 46): "bücher.example" is
// "xn--bcher-kva.example". A name in ASCII stays as it is. kInvalid: it is no name, or no UTF-8.
Result<std::string> ascii_host(std::string_view name);

}  // namespace bellwether
