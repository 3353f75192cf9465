// An Endpoint in the form the socket calls want.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "core/runtime/address.h"

namespace bellwether::runtime {

class SocketAddress {
 public:
  SocketAddress() = default;
  // `v4`: for a socket of family AF_INET; else the IPv6 form is used.
  SocketAddress(Endpoint endpoint, bool v4);

  int family() const { return storage_.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }

  // For calls that write an address.
  sockaddr* fill() { return reinterpret_cast<sockaddr*>(&storage_); }
  socklen_t* fill_size() {
    size_ = sizeof storage_;
    return &size_;
  }
  Endpoint endpoint() const;

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

// What getsockname() says; an empty endpoint when it fails.
Endpoint local_endpoint(int socket);
// What getpeername() says; an empty endpoint when it fails.
Endpoint peer_endpoint(int socket);

}  // namespace bellwether::runtime
