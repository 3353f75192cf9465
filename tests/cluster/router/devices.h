// The router's ends of the links: a TUN device in the network namespace of each node, and where the packets that come
// out of one are going.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace bellwether::router {

inline constexpr const char* kDeviceName = "link0";
inline constexpr std::size_t kMaxPacket = 65536;

// Opens a TUN device named kDeviceName in the namespace /run/netns/NAME, without waiting reads. Needs CAP_NET_ADMIN and
// CAP_SYS_ADMIN. The device lives as long as the descriptor, which the caller closes.
Result<int> open_device(const std::string& network_namespace);

// IPv4 and IPv6 addresses and the nodes that they belong to.
class Addresses {
 public:
  // kInvalid when it is no address, kExists when a node has it.
  Status add(std::string_view address, std::size_t node);
  // The node that an IP packet is for; nothing when it is none of ours, no whole IP packet, or for many (multicast).
  std::optional<std::size_t> destination(Bytes packet) const;

 private:
  using Octets = std::array<uint8_t, 16>;
  std::map<Octets, std::size_t> nodes_;
};

}  // namespace bellwether::router
