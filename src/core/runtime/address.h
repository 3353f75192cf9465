// Network addresses as values: no name, no resolution.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bellwether::runtime {

// An IPv4 or IPv6 address. IPv4 is held in its IPv6-mapped form, ::ffff:a.b.c.d.
class IpAddress {
 public:
  constexpr IpAddress() = default;
  static IpAddress v4(uint32_t host_order);
  static IpAddress v6(const std::array<uint8_t, 16>& network_order);
  static IpAddress loopback() { return v4(0x7f000001); }
  static IpAddress any() { return v4(0); }
  // "127.0.0.1", "::1" (without brackets).
  static Result<IpAddress> parse(std::string_view text);

  bool is_v4() const;
  uint32_t v4_value() const;  // host order. REQUIRES is_v4().
  const std::array<uint8_t, 16>& octets() const { return octets_; }
  std::string to_string() const;
  constexpr auto operator<=>(const IpAddress&) const = default;

 private:
  std::array<uint8_t, 16> octets_{};
};

struct Endpoint {
  IpAddress address;
  uint16_t port = 0;
  // "127.0.0.1:80", "[::1]:80"
  static Result<Endpoint> parse(std::string_view text);
  std::string to_string() const;
  constexpr auto operator<=>(const Endpoint&) const = default;
};

// Where a service is offered, from the domain name system (SRV records, RFC 2782). In the order of the tries: by
// priority, the lowest first, then by weight, the highest first. A client that uses only one of several with the same
// priority should pick it at random, in proportion to the weights.
struct ServicePlace {
  uint16_t priority = 0;
  uint16_t weight = 0;
  std::string host;  // a name; resolve its addresses separately
  uint16_t port = 0;
  auto operator<=>(const ServicePlace&) const = default;
};

inline bool is_tried_before(const ServicePlace& a, const ServicePlace& b) {
  if (a.priority != b.priority) return a.priority < b.priority;
  return a.weight != b.weight ? a.weight > b.weight : a.host < b.host;
}

}  // namespace bellwether::runtime
