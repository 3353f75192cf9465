#include "core/runtime/socket_address.h"

#include <cstring>

namespace bellwether::runtime {

SocketAddress::SocketAddress(Endpoint endpoint, bool v4) {
  if (v4) {
    auto* in = reinterpret_cast<sockaddr_in*>(&storage_);
    in->sin_family = AF_INET;
    in->sin_port = htons(endpoint.port);
    in->sin_addr.s_addr = htonl(endpoint.address.v4_value());
    size_ = sizeof *in;
  } else {
    auto* in = reinterpret_cast<sockaddr_in6*>(&storage_);
    in->sin6_family = AF_INET6;
    in->sin6_port = htons(endpoint.port);
    std::memcpy(&in->sin6_addr, endpoint.address.octets().data(), 16);
    size_ = sizeof *in;
  }
}

Endpoint SocketAddress::endpoint() const {
  if (storage_.ss_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&storage_);
    return {IpAddress::v4(ntohl(in->sin_addr.s_addr)), ntohs(in->sin_port)};
  }
  if (storage_.ss_family == AF_INET6) {
    const auto* in = reinterpret_cast<const sockaddr_in6*>(&storage_);
    std::array<uint8_t, 16> octets;
    std::memcpy(octets.data(), &in->sin6_addr, 16);
    return {IpAddress::v6(octets), ntohs(in->sin6_port)};
  }
  return {};
}

Endpoint local_endpoint(int socket) {
  SocketAddress address;
  if (::getsockname(socket, address.fill(), address.fill_size()) != 0) return {};
  return address.endpoint();
}

Endpoint peer_endpoint(int socket) {
  SocketAddress address;
  if (::getpeername(socket, address.fill(), address.fill_size()) != 0) return {};
  return address.endpoint();
}

}  // namespace bellwether::runtime
