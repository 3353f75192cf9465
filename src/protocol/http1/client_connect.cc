// Opening a connection: name, address, TCP, TLS.
#include <algorithm>

#include "protocol/http1/client.h"
#include "runtime/tls.h"

namespace bellwether::http1 {

using metrics::ErrorKind;
using runtime::IpAddress;
using runtime::task;

namespace {

ErrorKind connect_error(Errc code) {
  switch (code) {
    case Errc::kRefused: return ErrorKind::kConnectRefused;
    case Errc::kTimeout: return ErrorKind::kConnectTimeout;
    case Errc::kUnreachable: return ErrorKind::kUnreachable;
    case Errc::kExhausted: return ErrorKind::kExhausted;
    case Errc::kCancelled: return ErrorKind::kInterrupted;
    default: return ErrorKind::kConnectReset;
  }
}

ErrorKind tls_error(Errc code) {
  switch (code) {
    case Errc::kTimeout: return ErrorKind::kTlsTimeout;
    case Errc::kCancelled: return ErrorKind::kInterrupted;
    default: return ErrorKind::kTls;
  }
}

// The addresses to try, in this order. Connections take turns among those of the first family; the others are for when
// none of those answers. Empty: response.error says why.
task<std::vector<IpAddress>> addresses_to_try(runtime::Runtime& runtime, Origin& origin, Response& response,
                                              Instant deadline, runtime::Cancellation* cancel) {
  if (origin.literal) co_return std::vector<IpAddress>{origin.address};
  runtime::Cancellation until_deadline(cancel);
  runtime::Timer timer([](void* c) { static_cast<runtime::Cancellation*>(c)->cancel(); }, &until_deadline);
  runtime.timers().arm(timer, deadline);
  auto found = co_await runtime.resolve(origin.next_hop(), &until_deadline);
  if (!found || found->empty()) {
    const bool stopped = !found && found.error().code == Errc::kCancelled;
    const bool asked_to = cancel != nullptr && cancel->cancelled();
    response.error = !stopped ? ErrorKind::kDns : (asked_to ? ErrorKind::kInterrupted : ErrorKind::kTimeout);
    co_return std::vector<IpAddress>{};
  }
  const bool v4 = found->front().is_v4();
  const auto others = std::find_if(found->begin(), found->end(), [v4](IpAddress a) { return a.is_v4() != v4; });
  std::rotate(found->begin(), found->begin() + origin.next_address++ % (others - found->begin()), others);
  co_return std::move(*found);
}

}  // namespace

task<std::unique_ptr<Connection>> Client::open(Origin& origin, const CallLimits& limits, Response& response,
                                               Instant deadline, runtime::Cancellation* cancel) {
  Instant began = runtime_.read_clock();
  auto left = [&](Duration limit) { return std::min(limit, deadline - runtime_.now()); };
  const std::vector<IpAddress> addresses = co_await addresses_to_try(runtime_, origin, response, deadline, cancel);
  if (!origin.literal) response.dns += runtime_.read_clock() - began;
  if (addresses.empty()) co_return nullptr;

  began = runtime_.now();
  auto connection = std::make_unique<Connection>();
  connection->origin = &origin;
  for (const IpAddress address : addresses) {
    runtime::ConnectOptions options;
    options.timeout = left(limits.connect_timeout);
    auto stream = co_await runtime_.connect({address, origin.next_hop_port()}, options, cancel);
    if (stream) {
      connection->stream = std::move(*stream);
      break;
    }
    response.error = connect_error(stream.error().code);
    if (response.error != ErrorKind::kConnectRefused && response.error != ErrorKind::kUnreachable) break;
  }
  const bool tunnel = connection->stream != nullptr && origin.tls && origin.proxy.has_value();
  if (tunnel) {
    const Instant until = std::min(began + limits.connect_timeout, deadline);
    const bool opened = co_await open_tunnel(*connection, origin, until, response, cancel);
    if (!opened) connection->stream = nullptr;
  }
  response.connect += runtime_.read_clock() - began;
  if (connection->stream == nullptr) co_return nullptr;
  ++response.connections;
  if (!origin.tls) co_return connection;

  began = runtime_.now();
  const Duration limit = left(limits.tls_timeout);
  auto secured = co_await runtime::tls_connect(runtime_, std::move(connection->stream), origin.tls_context, origin.host,
                                               limit, cancel);
  response.tls += runtime_.read_clock() - began;
  if (!secured) {
    response.error = tls_error(secured.error().code);
    co_return nullptr;
  }
  connection->stream = std::move(*secured);
  co_return connection;
}

}  // namespace bellwether::http1
