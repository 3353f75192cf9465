// A listening socket whose queue is full: the kernel leaves further attempts to connect without an answer.
#pragma once

#include <array>
#include <unistd.h>

#include "core/base/check.h"
#include "core/runtime/epoll/sockets.h"

namespace bellwether::runtime {

class FullQueue {
 public:
  FullQueue() : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const SocketAddress any({IpAddress::loopback(), 0}, true);
    check(::bind(listening_, any.get(), any.size()) == 0 && ::listen(listening_, 0) == 0);
    const SocketAddress here(endpoint(), true);
    for (int& fd : waiting_) {
      fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      [[maybe_unused]] const int under_way = ::connect(fd, here.get(), here.size());
    }
  }
  ~FullQueue() {
    ::close(listening_);
    for (const int fd : waiting_) ::close(fd);
  }
  FullQueue(const FullQueue&) = delete;
  FullQueue& operator=(const FullQueue&) = delete;
  Endpoint endpoint() const { return local_endpoint(listening_); }

 private:
  int listening_;
  std::array<int, 8> waiting_;
};

}  // namespace bellwether::runtime
