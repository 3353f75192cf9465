// Where a service is offered, as the domain name system tells it (SRV records, RFC 2782).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace bellwether::runtime {

// In the order in which they are tried: by priority, the lowest first, then by weight, the highest first. Whoever takes
// but one of those with the same priority should take it at random, in proportion to the weights.
struct ServicePlace {
  uint16_t priority = 0;
  uint16_t weight = 0;
  std::string host;  // a name; its addresses are asked for by itself
  uint16_t port = 0;
  auto operator<=>(const ServicePlace&) const = default;
};

inline bool is_tried_before(const ServicePlace& a, const ServicePlace& b) {
  if (a.priority != b.priority) return a.priority < b.priority;
  return a.weight != b.weight ? a.weight > b.weight : a.host < b.host;
}

}  // namespace bellwether::runtime
