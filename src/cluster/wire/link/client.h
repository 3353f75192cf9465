// Connecting to another node: TCP, TLS where it is configured, the handshake. The caller reconnects after a connection
// has ended.
#pragma once

#include <memory>
#include <string>

#include "cluster/wire/link/connection.h"
#include "core/runtime/tls.h"

namespace bellwether::link {

struct DialSettings {
  wire::HandshakeSettings handshake;
  wire::SessionLimits session;  // serving_max is what the hello says
  Duration connect_timeout = Duration::seconds(3);
  Duration handshake_timeout = Duration::seconds(5);  // TLS, and ours
  std::shared_ptr<runtime::TlsContext> tls;           // nullptr: without; roles are then the nodes' own claims
};

// Why a connection failed: `refusal` is kNone when no node refused it (an unreachable node), and kTruncated when the
// other end closed without a word, as it does with strangers.
struct DialFailure {
  Error error;
  wire::Refusal refusal = wire::Refusal::kNone;
};
using Dialled = tl::expected<std::unique_ptr<Connection>, DialFailure>;

// `name`: of the certificate, when `tls` checks names. All arguments by reference outlive the connection. The
// connection does nothing until it is run().
runtime::task<Dialled> dial(runtime::Runtime& runtime, runtime::Endpoint to, std::string name,
                            const DialSettings& settings, const wire::Keyring& keyring, ConnectionHandler& handler,
                            RefusalWatch& refusals, runtime::Cancellation* cancel);

// Whether a node of ours listens at an address: sends "PING", expects "PONG". Costs the other end no handshake, and
// reveals nothing about its identity. kTimeout, kProtocol, and the errors of connecting.
runtime::task<Status> probe(runtime::Runtime& runtime, runtime::Endpoint to, Duration timeout,
                            runtime::Cancellation* cancel);

}  // namespace bellwether::link
