// TCP and UDP of the operating system for EpollRuntime. The runtime outlives the objects that these functions return.
#pragma once

#include <memory>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/runtime/address.h"
#include "core/runtime/epoll/epoll_runtime.h"

namespace bellwether::runtime {

// An Endpoint in the form the socket calls want.
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

// The result of getsockname(); an empty endpoint when it fails.
Endpoint local_endpoint(int socket);
// The result of getpeername(); an empty endpoint when it fails.
Endpoint peer_endpoint(int socket);

task<Result<std::unique_ptr<Stream>>> connect_tcp(EpollRuntime& runtime, Endpoint to, ConnectOptions options,
                                                  Cancellation* cancel);
Result<std::unique_ptr<Listener>> listen_tcp(EpollRuntime& runtime, Endpoint at, ListenOptions options);
Result<std::unique_ptr<UdpSocket>> bind_udp(EpollRuntime& runtime, Endpoint at);

}  // namespace bellwether::runtime
