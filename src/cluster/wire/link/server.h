// Listens for other nodes. Each connection is a stranger until it has shown that it knows the secret. Until then it is
// limited in number, time and bytes, costs a token of its address, learns nothing, and changes nothing.
//
// The first four bytes distinguish a probe ("PING", answered by "PONG", and closed) from the length of a frame or from
// TLS, so probes need no separate port; a frame of that length would be refused anyway.
#pragma once

#include <list>
#include <memory>

#include "cluster/wire/link/connection.h"
#include "cluster/wire/rate_limit.h"
#include "core/runtime/scope.h"
#include "core/runtime/tls.h"

namespace bellwether::link {

struct ServerSettings {
  wire::HandshakeSettings handshake;
  wire::SessionLimits session;               // serving_max is what the hello says
  std::shared_ptr<runtime::TlsContext> tls;  // nullptr: without; roles are then the nodes' own claims
  std::size_t strangers = 256;               // at a time; one more pushes out the oldest
  std::size_t connections = 16'384;          // of known nodes; one more is refused
  Duration handshake_timeout = Duration::seconds(5);
  // Of new connections, probes too.
  wire::RateLimits rate = {.per_source = 50, .burst = 200, .in_all = 1'000, .burst_in_all = 2'000, .sources = 4'096};
};

class Server {
 public:
  // All arguments by reference outlive it. kExists when the port is taken.
  static Result<std::unique_ptr<Server>> listen(runtime::Runtime& runtime, runtime::Endpoint at,
                                                ServerSettings settings, const wire::Keyring& keyring,
                                                ConnectionHandler& handler, RefusalWatch& refusals);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  runtime::Endpoint local() const { return listener_->local(); }
  // Until cancelled, and until all connections have ended then.
  runtime::task<void> serve(runtime::Cancellation* cancel);

  std::size_t strangers();
  // The open connections. Views until the next turn of the loop.
  std::vector<Connection*> connections() const { return {connections_.begin(), connections_.end()}; }
  uint64_t probes() const { return probes_; }

 private:
  struct Stranger;
  Server(runtime::Runtime& runtime, ServerSettings settings, const wire::Keyring& keyring, ConnectionHandler& handler,
         RefusalWatch& refusals, std::unique_ptr<runtime::Listener> listener);
  void make_room();
  runtime::task<void> converse(std::unique_ptr<runtime::Stream> stream, runtime::Cancellation* cancel);
  void forget_known();
  // The first bytes, TLS, and the handshake. Nothing: it is over.
  runtime::task<std::unique_ptr<Connection>> meet(Stranger& stranger, runtime::Cancellation* cancel);
  runtime::task<bool> first_bytes(Stranger& stranger, std::vector<std::byte>& bytes);
  runtime::task<bool> secure(Stranger& stranger, std::vector<std::byte>& bytes, wire::Proof& proof,
                             runtime::Cancellation* cancel);
  void give_up(Stranger& stranger, Errc why, wire::Refusal refusal);

  runtime::Runtime& runtime_;
  ServerSettings settings_;
  const wire::Keyring& keyring_;
  ConnectionHandler& handler_;
  RefusalWatch& refusals_;
  std::unique_ptr<runtime::Listener> listener_;
  wire::RateLimiter rate_;
  std::list<Stranger*> strangers_;  // the oldest first
  std::list<Connection*> connections_;
  uint64_t probes_ = 0;
};

}  // namespace bellwether::link
