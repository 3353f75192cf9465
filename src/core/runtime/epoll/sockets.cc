#include "core/runtime/epoll/sockets.h"

#include <cerrno>
#include <cstring>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/units.h"
#include "core/runtime/runtime.h"

namespace bellwether::runtime {

namespace {

void set_no_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void set_unsent(int fd, uint32_t bytes) {
  if (bytes > 0) setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

// Has a coroutine wait for one edge-triggered descriptor that is not a stream.
class Readable final : public EventSource {
 public:
  void on_events(uint32_t) override {
    ready_ = true;
    wake();
  }
  void wake() {
    if (waiter_ != nullptr) RunQueue::local().push(*std::exchange(waiter_, nullptr));
  }
  void clear() { ready_ = false; }

  class Wait {
   public:
    Wait(Readable& readable, Cancellation* cancel) : readable_(readable), on_cancel_(cancel, &Wait::cancelled, this) {}
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait() {
      if (readable_.waiter_ == &entry_) readable_.waiter_ = nullptr;
    }
    bool await_ready() const { return readable_.ready_ || cancelled_; }
    void await_suspend(std::coroutine_handle<> waiting) {
      check(readable_.waiter_ == nullptr, "one waiter a descriptor");
      entry_.handle = waiting;
      readable_.waiter_ = &entry_;
    }
    bool await_resume() const { return !cancelled_; }  // false: cancelled

   private:
    static void cancelled(void* self) {
      auto* wait = static_cast<Wait*>(self);
      wait->cancelled_ = true;
      if (wait->readable_.waiter_ == &wait->entry_) wait->readable_.wake();
    }
    Readable& readable_;
    bool cancelled_ = false;
    RunQueue::Entry entry_;
    CancelCallback on_cancel_;
  };
  Wait wait(Cancellation* cancel) { return Wait(*this, cancel); }

 private:
  bool ready_ = true;
  RunQueue::Entry* waiter_ = nullptr;
};

class SocketListener final : public Listener {
 public:
  SocketListener(EpollRuntime& runtime, int fd, uint32_t unsent) : runtime_(runtime), fd_(fd), unsent_(unsent) {}
  ~SocketListener() override {
    runtime_.unwatch(fd_);
    ::close(fd_);
  }
  Status watch() { return runtime_.watch(fd_, &readable_, EPOLLIN | EPOLLET); }
  Endpoint local() const override { return local_endpoint(fd_); }

  task<Result<std::unique_ptr<Stream>>> accept(Cancellation* cancel) override {
    while (true) {
      const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        set_no_delay(fd);
        set_unsent(fd, unsent_);
        auto stream = std::make_unique<SocketStream>(fd);
        BW_CO_RETURN_IF_ERROR(runtime_.watch_stream(*stream));
        co_return std::unique_ptr<Stream>(std::move(stream));
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) co_return fail_errno(errno, "accepting a connection");
      readable_.clear();
      const bool go_on = co_await readable_.wait(cancel);
      if (!go_on) co_return fail(Errc::kCancelled, "accepting was cancelled");
    }
  }

 private:
  EpollRuntime& runtime_;
  int fd_;
  uint32_t unsent_;
  Readable readable_;
};

class UdpDescriptor final : public UdpSocket {
 public:
  UdpDescriptor(EpollRuntime& runtime, int fd, bool v4) : runtime_(runtime), fd_(fd), v4_(v4) {}
  ~UdpDescriptor() override {
    runtime_.unwatch(fd_);
    ::close(fd_);
  }
  Status watch() { return runtime_.watch(fd_, &readable_, EPOLLIN | EPOLLET); }
  Endpoint local() const override { return local_endpoint(fd_); }

  Status send(Endpoint to, Bytes bytes) override {
    if (v4_ && !to.address.is_v4()) {
      return fail(Errc::kUnreachable, "sending a datagram to {}: this socket is an IPv4 socket", to.to_string());
    }
    const SocketAddress address(to, v4_);
    if (::sendto(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL, address.get(), address.size()) >= 0) return {};
    if (errno == EAGAIN || errno == ENOBUFS) return {};  // lost, as datagrams may be
    return fail_errno(errno, "sending a datagram to " + to.to_string());
  }

  task<Result<Datagram>> receive(MutableBytes into, Cancellation* cancel) override {
    while (true) {
      SocketAddress from;
      const ssize_t n = ::recvfrom(fd_, into.data(), into.size(), 0, from.fill(), from.fill_size());
      if (n >= 0) co_return Datagram{from.endpoint(), static_cast<std::size_t>(n)};
      if (errno == EINTR || errno == ECONNREFUSED) continue;  // a refusal belongs to an earlier send
      if (errno != EAGAIN) co_return fail_errno(errno, "receiving a datagram");
      readable_.clear();
      const bool go_on = co_await readable_.wait(cancel);
      if (!go_on) co_return fail(Errc::kCancelled, "receiving was cancelled");
    }
  }

 private:
  EpollRuntime& runtime_;
  int fd_;
  bool v4_;
  Readable readable_;
};

}  // namespace

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

task<Result<std::unique_ptr<Stream>>> connect_tcp(EpollRuntime& runtime, Endpoint to, ConnectOptions options,
                                                  Cancellation* cancel) {
  const SocketAddress address(to, to.address.is_v4());
  const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    co_return fail_errno(
        errno,
        fmt::format("opening a socket for {} (out of descriptors: raise the limit with ulimit -n)", to.to_string()));
  }
  auto stream = std::make_unique<SocketStream>(fd);
  if (options.no_delay) set_no_delay(fd);
  set_unsent(fd, options.unsent);
  if (options.from) {
    const SocketAddress from({*options.from, 0}, to.address.is_v4());
    const int on = 1;
    // The port is chosen with the other end: as many connections as without bind().
    ::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (::bind(fd, from.get(), from.size()) != 0) {
      co_return fail_errno(errno, "connecting from " + options.from->to_string());
    }
  }
  if (::connect(fd, address.get(), address.size()) != 0 && errno != EINPROGRESS) {
    const char* remedy =
        errno == EADDRNOTAVAIL ? " (no free local port: use keep-alive, or widen net.ipv4.ip_local_port_range)" : "";
    co_return fail_errno(errno, fmt::format("connecting to {}{}", to.to_string(), remedy));
  }
  BW_CO_RETURN_IF_ERROR(runtime.watch_stream(*stream));

  const Within within(runtime, *stream, runtime.now() + options.timeout, cancel);
  const Errc waited = co_await stream->writable();
  if (waited == Errc::kTimeout) {
    co_return fail(Errc::kTimeout, "connecting to {}: no answer within {}", to.to_string(),
                   format_duration(options.timeout));
  }
  if (waited != Errc::kOk) co_return fail(waited, "connecting to {} was cancelled", to.to_string());
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) co_return fail_errno(error, "connecting to " + to.to_string());
  co_return std::unique_ptr<Stream>(std::move(stream));
}

namespace {

tl::unexpected<Error> no_port(int error_number, const std::string& what) {
  Error error = error_from_errno(error_number, what);
  if (error_number == EADDRINUSE) error.message += "; another process has this port: end it, or choose another port";
  if (error_number == EACCES) error.message += "; a port below 1024 needs root: choose a higher one";
  if (error_number == EADDRNOTAVAIL) error.message += "; choose an address of this machine";
  return tl::unexpected(std::move(error));
}

}  // namespace

Result<std::unique_ptr<Listener>> listen_tcp(EpollRuntime& runtime, Endpoint at, ListenOptions options) {
  const SocketAddress address(at, at.address.is_v4());
  const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail_errno(errno, "opening a socket to listen on " + at.to_string());
  auto listener = std::make_unique<SocketListener>(runtime, fd, options.unsent);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (options.share_port) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (::bind(fd, address.get(), address.size()) != 0) return no_port(errno, "listening on " + at.to_string());
  if (::listen(fd, options.backlog) != 0) return no_port(errno, "listening on " + at.to_string());
  BW_RETURN_IF_ERROR(listener->watch());
  return std::unique_ptr<Listener>(std::move(listener));
}

Result<std::unique_ptr<UdpSocket>> bind_udp(EpollRuntime& runtime, Endpoint at) {
  const SocketAddress address(at, at.address.is_v4());
  const int fd = ::socket(address.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail_errno(errno, "opening a datagram socket");
  auto socket = std::make_unique<UdpDescriptor>(runtime, fd, at.address.is_v4());
  if (::bind(fd, address.get(), address.size()) != 0) return no_port(errno, "binding to " + at.to_string());
  BW_RETURN_IF_ERROR(socket->watch());
  return std::unique_ptr<UdpSocket>(std::move(socket));
}

}  // namespace bellwether::runtime
