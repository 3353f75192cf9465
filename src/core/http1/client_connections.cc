#include "core/http1/client_connections.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/http1/client.h"

namespace bellwether::http1 {
namespace {

bool goes_through(const Origin& origin, const Proxy* proxy) {
  if (proxy == nullptr || !origin.proxy) return proxy == nullptr && !origin.proxy;
  return *origin.proxy == *proxy;
}

}  // namespace

std::string connect_head(std::string_view host, uint16_t port, const Proxy& proxy) {
  const std::string authority = to_string(HostPort{std::string(host), port});
  std::string out = fmt::format("CONNECT {} HTTP/1.1\r\nHost: {}\r\n", authority, authority);
  if (!proxy.authorization.empty()) out += fmt::format("Proxy-Authorization: {}\r\n", proxy.authorization);
  out += "\r\n";
  return out;
}

TlsSettings TlsSettings::for_another_server() const {
  TlsSettings out = *this;
  out.server_name.clear();
  out.certificate_pem = out.key_pem = nullptr;
  return out;
}

Result<Origin*> OriginTable::find(bool tls, std::string_view host, uint16_t port, const TlsSettings& settings,
                                  const Proxy* proxy) {
  for (const auto& origin : origins_) {
    if (origin->tls == tls && origin->port == port && iequals(origin->host, host) &&
        (!tls || origin->tls_settings == settings) && goes_through(*origin, proxy)) {
      return origin.get();
    }
  }
  auto origin = std::make_unique<Origin>();
  origin->tls = tls;
  origin->host = std::string(host);
  origin->port = port;
  if (proxy != nullptr) origin->proxy = *proxy;
  if (auto address = runtime::IpAddress::parse(origin->next_hop())) {
    origin->literal = true;
    origin->address = *address;
  }
  for (const HostOverride& one : overrides_) {
    if (origin->proxy || !iequals(one.host, host)) continue;
    origin->literal = true;
    origin->address = one.to.address;
    origin->other_port = one.to.port;
  }
  if (tls) {
    origin->tls_settings = settings;
    BW_TRY(origin->tls_context, context_for(settings));
  }
  origins_.push_back(std::move(origin));
  return origins_.back().get();
}

Result<std::shared_ptr<runtime::TlsContext>> OriginTable::context_for(const TlsSettings& settings) {
  for (const auto& [known, context] : contexts_) {
    if (known == settings) return context;
  }
  runtime::TlsClientOptions options;
  options.verify = settings.verify;
  options.ca_file = settings.ca_name;
  if (settings.ca_pem != nullptr) options.ca_pem = *settings.ca_pem;
  options.certificate_file = settings.certificate_name;
  options.key_file = settings.key_name;
  if (settings.certificate_pem != nullptr) {
    options.certificate_pem = *settings.certificate_pem;
    options.key_pem = *settings.key_pem;
  }
  options.min_version = settings.min_version;
  options.max_version = settings.max_version;
  options.resume = settings.resume;
  options.alpn = {"http/1.1"};
  auto context = runtime::TlsContext::client(options);
  if (context) contexts_.emplace_back(settings, *context);
  return context;
}

using runtime::Io;
using runtime::IpAddress;
using runtime::task;

// Sharing connections.

Connection::~Connection() {
  if (counts != nullptr) counts->give_back(*origin);
}

SharedConnections::Waiting::Waiting(Server& server) : at(&server), before(server.last) {
  (before == nullptr ? server.first : before->behind) = this;
  server.last = this;
}

void SharedConnections::Waiting::leave() {
  if (at == nullptr) return;
  (before == nullptr ? at->first : before->behind) = behind;
  (behind == nullptr ? at->last : behind->before) = before;
  at = nullptr;
}

void SharedConnections::Waiting::get(std::unique_ptr<Connection> connection) {
  leave();
  got = std::move(connection);
  called.set();
}

void SharedConnections::Waiting::give_up(void* self) {
  auto* const waiting = static_cast<Waiting*>(self);
  if (waiting->at != nullptr) waiting->get(nullptr);
}

SharedConnections::Server& SharedConnections::server_of(const Origin& origin) {
  for (const auto& server : servers_) {
    if (server->origin == &origin) return *server;
  }
  servers_.push_back(std::make_unique<Server>(Server{.origin = &origin}));
  return *servers_.back();
}

std::unique_ptr<Connection> SharedConnections::new_place(Server& server) {
  ++server.open;
  auto made = std::make_unique<Connection>();
  made->origin = server.origin;
  made->counts = this;
  return made;
}

task<std::unique_ptr<Connection>> SharedConnections::take_place(const Origin& origin, Instant deadline,
                                                                runtime::Cancellation* cancel) {
  if (most_ == 0) co_return std::make_unique<Connection>();
  Server& server = server_of(origin);
  // An idle one is there only for a request that must not use it: it takes the place.
  auto idle = server.open < most_ ? nullptr : session_.take_idle(origin);
  if (idle != nullptr) co_return idle;
  if (server.open < most_) co_return new_place(server);
  Waiting waiting(server);
  runtime::Timer timer(&Waiting::give_up, &waiting);
  runtime_.timers().arm(timer, deadline);
  const runtime::CancelCallback on_cancel(cancel, &Waiting::give_up, &waiting);
  co_await waiting.called.wait();
  if (runtime_.read_clock() >= deadline) waiting.got = nullptr;  // the next one gets the place
  co_return std::move(waiting.got);
}

void SharedConnections::put(std::unique_ptr<Connection> connection) {
  Waiting* const next = connection->counts == nullptr ? nullptr : server_of(*connection->origin).first;
  if (next == nullptr) return session_.put_idle(std::move(connection));
  if (connection->stream->idle_and_open()) next->get(std::move(connection));
}

// A connection has closed, or could not be opened.
void SharedConnections::give_back(const Origin& origin) {
  Server& server = server_of(origin);
  --server.open;
  if (server.first != nullptr) server.first->get(new_place(server));
}

// Opening a connection: name, address, TCP, TLS.

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

// A phase has a limit of its own, and ends with the exchange as a whole. `whole`: that comes first.
ErrorKind by_limit(ErrorKind error, bool whole) {
  const bool late = error == ErrorKind::kConnectTimeout || error == ErrorKind::kTlsTimeout;
  return late && whole ? ErrorKind::kTimeout : error;
}

// The addresses to try, in this order. Connections take turns among the addresses of the first family; the others
// follow when none of these answers. Empty: response.error says why.
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
  const auto others = std::ranges::find_if(*found, [v4](IpAddress a) { return a.is_v4() != v4; });
  std::rotate(found->begin(), found->begin() + origin.next_address++ % (others - found->begin()), others);
  co_return std::move(*found);
}

}  // namespace

void Connector::use_local(std::vector<IpAddress> addresses) {
  local_ = std::move(addresses);
  const auto v6 = std::stable_partition(local_.begin(), local_.end(), [](const IpAddress& one) { return one.is_v4(); });
  local_v4_ = static_cast<std::size_t>(v6 - local_.begin());
}

// Nothing: none has the family.
std::optional<IpAddress> Connector::local_for(bool v4, uint32_t number) const {
  const std::size_t first = v4 ? 0 : local_v4_;
  const std::size_t count = v4 ? local_v4_ : local_.size() - local_v4_;
  if (count == 0) return std::nullopt;
  return local_[first + number % count];
}

task<std::unique_ptr<Connection>> Connector::open(Session& session, SharedConnections* shared, const Request& request,
                                                  Response& response, Instant deadline, runtime::Cancellation* cancel) {
  Origin& origin = *request.origin;
  const CallLimits& limits = *request.limits;
  std::unique_ptr<Connection> connection;
  if (shared == nullptr) {
    connection = std::make_unique<Connection>();
  } else {
    connection = co_await shared->take_place(origin, deadline, cancel);
    if (connection == nullptr) {
      const bool asked_to = cancel != nullptr && cancel->cancelled();
      response.error = asked_to ? ErrorKind::kInterrupted : ErrorKind::kTimeout;
    }
    if (connection == nullptr || (connection->stream != nullptr && !request.fresh)) co_return connection;
    connection->stream = nullptr;
    connection->used = false;
  }
  Instant began = runtime_.read_clock();
  bool whole = false;
  const auto left = [&](Duration limit) {
    const Duration rest = deadline - runtime_.now();
    whole = rest <= limit;
    return std::min(limit, rest);
  };
  const std::vector<IpAddress> addresses = co_await addresses_to_try(runtime_, origin, response, deadline, cancel);
  if (!origin.literal) response.dns += runtime_.read_clock() - began;
  if (addresses.empty()) co_return nullptr;

  began = runtime_.now();
  connection->origin = &origin;
  for (const IpAddress address : addresses) {
    runtime::ConnectOptions options;
    options.timeout = left(limits.connect_timeout);
    if (!local_.empty()) {
      options.from = local_for(address.is_v4(), session.number);
      if (!options.from) {
        response.error = ErrorKind::kUnreachable;
        continue;
      }
    }
    auto stream = co_await runtime_.connect({address, origin.next_hop_port()}, options, cancel);
    if (stream) {
      connection->stream = std::move(*stream);
      break;
    }
    response.error = by_limit(connect_error(stream.error().code), whole);
    if (response.error != ErrorKind::kConnectRefused && response.error != ErrorKind::kUnreachable) break;
  }
  const bool tunnel = connection->stream != nullptr && origin.tls && origin.proxy.has_value();
  if (tunnel) {
    const Instant until = std::min(began + limits.connect_timeout, deadline);
    const bool opened = co_await open_tunnel(*connection, origin, until, response, cancel);
    if (!opened) {
      connection->stream = nullptr;
      response.error = by_limit(response.error, until == deadline);
    }
  }
  response.connect += runtime_.read_clock() - began;
  if (connection->stream == nullptr) co_return nullptr;
  ++response.connections;
  if (!origin.tls) co_return connection;

  began = runtime_.now();
  const Duration limit = left(limits.tls_timeout);
  std::shared_ptr<runtime::TlsSession> resumed;
  if (origin.tls_settings.resume) resumed = session.tls_session(origin);
  auto secured = co_await runtime::tls_connect(runtime_, std::move(connection->stream), origin.tls_context,
                                               origin.tls_name(), limit, cancel, std::move(resumed));
  response.tls += runtime_.read_clock() - began;
  if (!secured) {
    response.error = by_limit(tls_error(secured.error().code), whole);
    co_return nullptr;
  }
  connection->stream = std::move(*secured);
  co_return connection;
}

// A way through a proxy to a server that speaks TLS: CONNECT (RFC 9110, section 9.3.6).

namespace {

// A proxy has less to say than a server.
constexpr std::size_t kMaxHead = 16 << 10;
// Interim responses that are passed over.
constexpr int kMaxInterim = 8;

ErrorKind tunnel_error(Errc why) {
  switch (why) {
    case Errc::kOk: return ErrorKind::kNone;
    case Errc::kCancelled: return ErrorKind::kInterrupted;
    case Errc::kTimeout: return ErrorKind::kConnectTimeout;
    default: return ErrorKind::kProxy;
  }
}

// Nothing may follow the head: the server says nothing before we do.
task<ErrorKind> read_answer(runtime::Stream& stream, int& status) {
  std::string bytes(kMaxHead, '\0');
  std::size_t filled = 0;
  std::size_t scanned = 0;
  for (int interim = 0; interim <= kMaxInterim;) {
    const auto head = std::make_unique<ResponseHead>();
    std::size_t consumed = 0;
    const char* reason = "";
    // As after HEAD, the response has no body, regardless of its fields.
    const Parse parsed =
        parse_response_head(std::string_view(bytes).substr(0, filled), true, scanned, *head, consumed, reason);
    if (parsed == Parse::kDone && head->status < 200) {
      bytes.erase(0, consumed);
      bytes.resize(kMaxHead);
      filled -= consumed;
      scanned = 0;
      ++interim;
      continue;
    }
    if (parsed == Parse::kFolded) {
      unfold(bytes.data(), filled);
      continue;
    }
    if (parsed == Parse::kDone) {
      status = head->status;
      const bool opened = status < 300 && consumed == filled;
      co_return opened ? ErrorKind::kNone : ErrorKind::kProxy;
    }
    if (parsed != Parse::kMore || filled == bytes.size()) co_return ErrorKind::kProxy;
    const Errc waited = co_await stream.readable();
    if (waited != Errc::kOk) co_return tunnel_error(waited);
    const Io io = stream.try_read({reinterpret_cast<std::byte*>(bytes.data()) + filled, bytes.size() - filled});
    if (io.kind == Io::Kind::kEnd || io.kind == Io::Kind::kError) co_return ErrorKind::kProxy;
    if (io.kind == Io::Kind::kDone) filled += io.count;
  }
  co_return ErrorKind::kProxy;
}

}  // namespace

task<bool> Connector::open_tunnel(Connection& connection, Origin& origin, Instant deadline, Response& response,
                                  runtime::Cancellation* cancel) {
  runtime::Stream& stream = *connection.stream;
  const runtime::Within within(runtime_, stream, deadline, cancel);
  const std::string asked = connect_head(origin.host, origin.port, *origin.proxy);
  ErrorKind error = tunnel_error(co_await runtime::write_all(stream, as_bytes(asked)));
  if (error == ErrorKind::kNone) error = co_await read_answer(stream, response.proxy_status);
  if (error == ErrorKind::kNone) co_return true;
  response.error = error;
  response.detail = "the proxy opened no tunnel";
  co_return false;
}

}  // namespace bellwether::http1
