// Where a member is reached: an IP address with a port, a plain value. Names of hosts are resolved before they come
// here.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace bellwether::membership {

struct Endpoint {
  std::array<uint8_t, 16> ip{};  // network order; IPv4 as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2)
  uint16_t port = 0;             // host order

  constexpr auto operator<=>(const Endpoint&) const = default;
  static Endpoint v4(std::array<uint8_t, 4> address, uint16_t port);
  bool is_v4() const;
};

// "10.0.0.1:7946", "[2001:db8::1]:7946" (RFC 5952).
std::string to_string(const Endpoint& endpoint);

}  // namespace bellwether::membership
