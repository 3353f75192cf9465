#include "node/cluster/own_address.h"

#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bellwether::node {

std::optional<runtime::IpAddress> own_address_towards(const runtime::Endpoint& there) {
  // A connected UDP socket has an address of its own as soon as it knows where to, without a packet.
  const int fd = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::nullopt;
  const int off = 0;
  ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(there.port);
  std::memcpy(&to.sin6_addr, there.address.octets().data(), 16);
  sockaddr_in6 own{};
  socklen_t size = sizeof own;
  const bool known = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  ::close(fd);
  if (!known) return std::nullopt;
  std::array<uint8_t, 16> octets{};
  std::memcpy(octets.data(), &own.sin6_addr, octets.size());
  return runtime::IpAddress::v6(octets);
}

}  // namespace bellwether::node
