// Connecting to another node: TCP, TLS where it is configured, the handshake. Coming back after a connection has ended
// is the caller's business.
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
  std::shared_ptr<runtime::TlsContext> tls;           // nullptr: without; roles are then what nodes say of themselves
};

// Why there is no connection: `refusal` is kNone when nobody refused anything (an unreachable node), and kTruncated
// when the other end closed without a word, as it does with strangers.
struct DialFailure {
  Error error;
  wire::Refusal refusal = wire::Refusal::kNone;
};
using Dialled = tl::expected<std::unique_ptr<Connection>, DialFailure>;

// `name`: what the certificate must be for, when `tls` checks names. Everything that is referred to outlives the
// connection. The connection does nothing until it is run().
runtime::task<Dialled> dial(runtime::Runtime& runtime, runtime::Endpoint to, std::string name,
                            const DialSettings& settings, const wire::Keyring& keyring, ConnectionHandler& handler,
                            RefusalWatch& refusals, runtime::Cancellation* cancel);

// Whether somebody of ours listens at an address: sends "PING", expects "PONG". Costs the other end no handshake, and
// tells nothing about who it is. kTimeout, kProtocol, and what connecting may end with.
runtime::task<Status> probe(runtime::Runtime& runtime, runtime::Endpoint to, Duration timeout,
                            runtime::Cancellation* cancel);

}  // namespace bellwether::link
