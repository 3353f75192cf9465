// The sockets of one machine: the connection, listener or datagram socket of a packet, and the ports in use. Made when
// the machine is switched on, gone when its power is.
#pragma once

#include <compare>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/runtime/address.h"
#include "core/runtime/runtime.h"
#include "core/runtime/stream.h"
#include "core/runtime/timers.h"
#include "sim/tcp.h"
#include "sim/timeline.h"

namespace bellwether::sim {

class SimRuntime;

// Something of a simulated process that the simulated kernel reports on: the counterpart of a descriptor in epoll. The
// kernel marks it at any time; the process looks at it in its next turn, which comes later when the process is paused.
class Source {
 public:
  explicit Source(SimRuntime& runtime) : runtime_(runtime) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source();

  // Requests on_ready() in the next turn; one call for any number of requests.
  void mark();
  // In a turn of the process: announces the new readiness. Resumes nothing and destroys nothing.
  virtual void on_ready() = 0;

 protected:
  SimRuntime& runtime() { return runtime_; }

 private:
  friend class SimRuntime;
  SimRuntime& runtime_;
  bool marked_ = false;
};

class Node;

// The kernel's half of a listener.
class ListenQueue {
 public:
  runtime::Endpoint at;
  std::size_t backlog = 0;
  bool share_port = false;
  Source* user = nullptr;
  std::deque<std::shared_ptr<Connection>> ready;

 private:
  friend class Sockets;
  std::size_t half_open_ = 0;
};

// The kernel's half of a datagram socket.
class Mailbox {
 public:
  struct Datagram {
    runtime::Endpoint from;
    std::vector<std::byte> bytes;
  };
  runtime::Endpoint at;
  Source* user = nullptr;
  std::deque<Datagram> waiting;
};

class Sockets {
 public:
  using Endpoint = runtime::Endpoint;

  Sockets(Node& node, Timeline& timeline);
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;
  ~Sockets();

  // Errors: kExists (the address has a listener), kExhausted (the address is not this machine's, no port is free).
  Result<std::unique_ptr<ListenQueue>> listen(Endpoint at, runtime::ListenOptions options);
  void close(ListenQueue& queue);
  Result<std::shared_ptr<Connection>> connect(Endpoint to);

  Result<std::unique_ptr<Mailbox>> bind(Endpoint at);
  void close(Mailbox& mailbox);
  void send(const Mailbox& from, Endpoint to, Bytes bytes);

  // The power is gone: all connections die, and peers get no notice.
  void go_dark();

  // For connections.
  void send(Segment segment);
  void opened(Connection& connection);
  void remove(Connection& connection);

 private:
  struct Key {
    Endpoint local;
    Endpoint peer;
    auto operator<=>(const Key&) const = default;
  };
  static Key key_of(const Connection& connection);
  bool is_local(runtime::IpAddress address) const;
  runtime::IpAddress address_towards(runtime::IpAddress peer) const;
  uint16_t next_port();
  void receive(const Segment& segment);
  void receive_opening(const Segment& segment);
  void refuse(const Segment& segment);
  ListenQueue* listener_at(Endpoint at);
  std::shared_ptr<Connection> add(Connection::Identity identity, ListenQueue* listener);
  void receive(Endpoint from, Endpoint to, const std::vector<std::byte>& bytes);

  Node& node_;
  Timeline& timeline_;
  uint16_t port_;
  bool dark_ = false;
  std::map<Key, std::shared_ptr<Connection>> connections_;
  std::map<Endpoint, std::vector<ListenQueue*>> listeners_;
  std::map<Endpoint, Mailbox*> mailboxes_;
};

// A datagram socket of a simulated process.
Result<std::unique_ptr<runtime::UdpSocket>> bind_udp(SimRuntime& runtime, runtime::Endpoint at);

// Simulated connections and listeners as a process sees them.
class SimStream final : public runtime::Stream, public Source {
 public:
  SimStream(SimRuntime& runtime, std::shared_ptr<Connection> connection);
  ~SimStream() override;

  Connection& connection() { return *connection_; }
  void finish_writing() override { connection_->finish_writing(); }
  runtime::Endpoint peer() const override { return connection_->identity().peer; }
  void on_ready() override;

 protected:
  runtime::Io do_read(MutableBytes into) override;
  runtime::Io do_write(Bytes bytes) override;
  void do_reset_when_closed() override { resets_ = true; }

 private:
  void look_again_soon();

  std::shared_ptr<Connection> connection_;
  // The bytes announced to the process: a read gives no more, as with edge-triggered readiness the rest may come later.
  std::size_t announced_ = 0;
  bool end_announced_ = false;
  bool resets_ = false;
  runtime::Timer look_again_;
};

runtime::task<Result<std::unique_ptr<runtime::Stream>>> connect_tcp(SimRuntime& runtime, runtime::Endpoint to,
                                                                    runtime::ConnectOptions options,
                                                                    runtime::Cancellation* cancel);
Result<std::unique_ptr<runtime::Listener>> listen_tcp(SimRuntime& runtime, runtime::Endpoint at,
                                                      runtime::ListenOptions options);

}  // namespace bellwether::sim
