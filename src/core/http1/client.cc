#include "core/http1/client.h"

#include <algorithm>
#include <memory>
#include <string>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/http1/client_reader.h"
#include "core/http1/client_redirect.h"
#include "core/runtime/stream_io.h"
#include "core/runtime/tls.h"

namespace bellwether::http1 {

using runtime::Io;
using runtime::task;

namespace {

ErrorKind read_error(Errc code, bool begun) {
  if (code == Errc::kTls) return ErrorKind::kTls;
  return code == Errc::kReset && begun ? ErrorKind::kTruncated : ErrorKind::kReset;
}

// A line of a head, and the value of its field.
struct FieldLine {
  std::size_t at = 0;
  std::size_t size = 0;  // with its line end; 0: none
  std::string_view value;
};

// The first field of this name, given with its colon, of a head whose lines end with CR LF.
FieldLine field_line(std::string_view head, std::string_view name) {
  for (std::size_t at = 0; at < head.size();) {
    const std::string_view line = head.substr(at, head.find("\r\n", at) - at);
    if (iequals(line.substr(0, name.size()), name)) return {at, line.size() + 2, trim(line.substr(name.size()))};
    at += line.size() + 2;
  }
  return {};
}

bool asks_for_coding(std::string_view head) {
  const std::string_view value = field_line(head, "accept-encoding:").value;
  return !value.empty() && !iequals(value, "identity");
}

bool idempotent(std::string_view method) { return method != "POST" && method != "PATCH" && method != "CONNECT"; }

}  // namespace

// The timers and the cancellation of one request on one connection. They end a wait by interrupting the stream; this
// remembers the reason.
struct Client::Attempt {
  Attempt(runtime::Runtime& runtime, runtime::Stream& s, runtime::Cancellation* cancel)
      : wheel(runtime.timers()),
        stream(s),
        timer(&Attempt::on_timer, this),
        on_cancel(cancel, &Attempt::cancelled, this) {}

  // At first the wait for the first byte is limited, then only the whole.
  void limit(Instant first_byte, Instant whole) {
    whole_deadline = whole;
    waiting_for_first_byte = first_byte < whole;
    wheel.arm(timer, std::min(first_byte, whole));
  }
  void first_byte_seen() {
    if (!waiting_for_first_byte) return;
    waiting_for_first_byte = false;
    wheel.arm(timer, whole_deadline);
  }
  static void on_timer(void* self) {
    auto* attempt = static_cast<Attempt*>(self);
    attempt->why = attempt->waiting_for_first_byte ? ErrorKind::kFirstByteTimeout : ErrorKind::kTimeout;
    attempt->stream.interrupt(Errc::kTimeout);
  }
  static void cancelled(void* self) {
    auto* attempt = static_cast<Attempt*>(self);
    attempt->why = ErrorKind::kInterrupted;
    attempt->stream.interrupt(Errc::kCancelled);
  }

  // Hands the result of a read to the reader. REQUIRES that it was not kWouldBlock.
  ResponseReader::State receive(const Io& io, ResponseReader& reader, Response& response, Instant now) {
    if (io.kind == Io::Kind::kEnd) return reader.ended();
    if (io.kind == Io::Kind::kError) {
      response.error = read_error(io.error, reader.bytes_received() != 0);
      return ResponseReader::State::kMore;
    }
    if (reader.bytes_received() == 0) {
      response.first_byte = now;
      first_byte_seen();
    }
    return reader.received(io.count);
  }

  runtime::TimerWheel& wheel;
  runtime::Stream& stream;
  Instant whole_deadline;
  bool waiting_for_first_byte = false;
  ErrorKind why = ErrorKind::kNone;
  runtime::Timer timer;
  runtime::CancelCallback on_cancel;
};

task<void> Client::exchange(Session& session, const Request& request, Response& response,
                            runtime::Cancellation* cancel) {
  response.started = runtime_.now();
  const Instant deadline = response.started + request.limits->timeout;
  co_await exchange_once(session, request, response, deadline, cancel);
  if (response.status == 401 && request.digest != nullptr) {
    co_await exchange_authenticated(session, request, response, deadline, cancel);
  }
  if (response.error != ErrorKind::kNone || !is_redirect(response.status) || request.limits->redirects_max == 0)
    co_return;

  // From here on nothing is on the hot path: each hop is put together anew.
  Request hop = request;
  RedirectedRequest next;
  while (response.error == ErrorKind::kNone && is_redirect(response.status) && !response.head().location.empty()) {
    if (response.redirects == request.limits->redirects_max) co_return;  // the last redirect is the response
    RedirectedRequest made = follow_redirect(hop, response.head());
    if (!made.valid) {
      response.error = ErrorKind::kRedirect;
      response.detail = "the redirect names no URL that can be fetched";
      co_return;
    }
    next = std::move(made);
    const Proxy* proxy = request.proxies == nullptr ? nullptr : request.proxies->find(next.tls, next.host);
    auto origin = origins_.find(next.tls, next.host, next.port, hop.origin->tls_settings, proxy);
    if (!origin) {
      response.error = ErrorKind::kTls;
      co_return;
    }
    hop = next.request(*request.limits, request.want_body);
    hop.origin = *origin;
    hop.proxies = request.proxies;
    hop.fresh = request.fresh;
    if (hop.origin == request.origin) hop.digest = request.digest;
    ++response.redirects;
    response.status = 0;
    response.body = {};
    co_await exchange_once(session, hop, response, deadline, cancel);
    if (response.status == 401 && hop.digest != nullptr) {
      co_await exchange_authenticated(session, hop, response, deadline, cancel);
    }
  }
}

// Answers a challenge, once; unless only the nonce of the answer was too old, a refusal of that is the response.
task<void> Client::exchange_authenticated(Session& session, const Request& request, Response& response,
                                          Instant deadline, runtime::Cancellation* cancel) {
  const bool answered = session.digest != nullptr && session.digest->origin == request.origin;
  auto challenge = response.error == ErrorKind::kNone ? digest_challenge(response.head()) : std::nullopt;
  if (!challenge || (answered && !challenge->stale && challenge->nonce == session.digest->challenge.nonce)) co_return;
  session.digest = std::make_unique<DigestMemory>(DigestMemory{request.origin, std::move(*challenge)});
  response.status = 0;
  response.body = {};
  co_await exchange_once(session, request, response, deadline, cancel);
}

// The bytes in one piece: prepared, or put together when the user has cookies for this URL, or answers a
// challenge.
std::string_view Client::bytes_to_send(const Session& session, const Request& request) {
  const bool cookies = !session.cookies.empty();
  const bool digest =
      request.digest != nullptr && session.digest != nullptr && session.digest->origin == request.origin;
  if (!cookies && !digest && !request.whole.empty()) return request.whole;
  scratch_.assign(request.head);
  if (digest) {
    std::string nonce = hex(runtime_.prng().next());
    nonce += hex(runtime_.prng().next());
    scratch_ += "Authorization: ";
    append_digest(session.digest->challenge,
                  {request.digest->name, request.digest->password, request.method, request.target, nonce,
                   ++session.digest->count},
                  scratch_);
    scratch_ += "\r\n";
  }
  if (cookies) put_cookies(session.cookies, request);
  scratch_ += "\r\n";
  scratch_ += request.body;
  return scratch_;
}

// One field with the cookies of the request and of the user (RFC 6265, section 5.4), at the end of scratch_, which
// holds the head.
void Client::put_cookies(const CookieJar& cookies, const Request& request) {
  std::string own;
  constexpr std::string_view kName = "cookie:";
  for (FieldLine line = field_line(scratch_, kName); line.size != 0; line = field_line(scratch_, kName)) {
    if (!own.empty()) own += "; ";
    own += line.value;
    scratch_.erase(line.at, line.size);
  }
  const std::size_t before = scratch_.size();
  scratch_ += "Cookie: ";
  const std::size_t start = scratch_.size();
  cookies.append_header(request.origin->host, request.target, request.origin->tls, runtime_.wall_now(), scratch_, own);
  if (scratch_.size() == start) {
    scratch_.resize(before);
  } else {
    scratch_ += "\r\n";
  }
}

task<void> Client::exchange_once(Session& session, const Request& request, Response& response, Instant deadline,
                                 runtime::Cancellation* cancel) {
  std::unique_ptr<Connection> connection = request.fresh ? nullptr : session.take_idle(*request.origin);
  while (true) {
    if (connection == nullptr) {
      connection = co_await open(*request.origin, *request.limits, response, deadline, cancel);
      if (connection == nullptr) {
        response.done = runtime_.now();
        if (watch_ != nullptr) watch_->received(session, response);
        co_return;
      }
    }
    runtime::Stream& stream = *connection->stream;
    Attempt attempt(runtime_, stream, cancel);
    const Instant sent = runtime_.read_clock();
    if (response.attempts++ == 0) response.sent = sent;
    attempt.limit(sent + request.limits->first_byte_timeout, deadline);
    response.error = ErrorKind::kNone;

    // Send: nearly always one call takes everything.
    std::string_view bytes = bytes_to_send(session, request);
    if (watch_ != nullptr) watch_->sent(session, *request.origin, bytes);
    std::string rest;
    bool in_one_call = true;
    Io io = stream.try_write(as_bytes(bytes));
    while (io.kind != Io::Kind::kError) {
      response.bytes_sent += io.count;
      bytes.remove_prefix(io.count);
      if (bytes.empty()) break;
      if (rest.empty() && bytes.data() >= scratch_.data() && bytes.data() < scratch_.data() + scratch_.size()) {
        rest.assign(bytes);  // other exchanges use the scratch buffer while this one waits
        bytes = rest;
      }
      in_one_call = false;
      const Errc waited = co_await stream.writable();
      if (waited != Errc::kOk) {
        response.error = attempt.why;
        break;
      }
      io = stream.try_write(as_bytes(bytes));
    }
    if (!in_one_call) response.sending = runtime_.now() - sent;

    // Receive. Reading right after sending would only cost a call: wait to be told.
    const bool want_body = request.want_body || (watch_ != nullptr && watch_->bodies);
    ResponseReader reader(buffers_, request.method == "HEAD", want_body, request.limits->body_bytes_max, request.heads);
    auto state = ResponseReader::State::kMore;
    if (io.kind == Io::Kind::kError && response.error == ErrorKind::kNone) {
      // The peer may have answered before it closed; its answer is worth more than the broken pipe.
      io = stream.try_read(reader.space());
      if (io.kind == Io::Kind::kDone) {
        state = attempt.receive(io, reader, response, runtime_.now());
      } else {
        response.error = connection->used ? ErrorKind::kClosed : ErrorKind::kSend;
      }
    }
    while (response.error == ErrorKind::kNone && state == ResponseReader::State::kMore) {
      const Errc waited = co_await stream.readable();
      if (waited != Errc::kOk) {
        response.error = attempt.why;
        break;
      }
      io = stream.try_read(reader.space());
      if (io.kind != Io::Kind::kWouldBlock) state = attempt.receive(io, reader, response, runtime_.now());
    }
    if (state == ResponseReader::State::kFailed) {
      response.error = reader.error();
      response.detail = reader.detail();
    } else if (reader.has_unknown_coding() && asks_for_coding(request.head)) {
      response.error = ErrorKind::kDecode;
      response.detail = "a content encoding other than gzip, deflate, br and zstd";
    }
    response.done = runtime_.now();
    response.bytes_received += reader.bytes_received();

    const bool stale = response.error == ErrorKind::kClosed || response.error == ErrorKind::kReset;
    const bool again = stale && connection->used && reader.bytes_received() == 0;
    if (again && idempotent(request.method) && !request.once) {
      // The server closed the kept connection while the request was on its way: not a failure of the request.
      if (watch_ != nullptr) watch_->received(session, response);
      connection = nullptr;
      continue;
    }
    keep(session, request, response, reader, std::move(connection));
    if (watch_ != nullptr) watch_->received(session, response);
    co_return;
  }
}

// Keeps the parts of an exchange that outlive it: the response for its readers, the cookies and the connection for the
// user.
void Client::keep(Session& session, const Request& request, Response& response, ResponseReader& reader,
                  std::unique_ptr<Connection> connection) {
  if (reader.has_head()) {
    response.buffer = reader.take_buffer();
    response.status = response.buffer->head.status;
    response.body = reader.body();
    if (response.buffer->head.has_set_cookie) {
      session.cookies.store_all(response.buffer->head, request.origin->host, request.target, runtime_.wall_now());
    }
  }
  if (response.error != ErrorKind::kNone || !reader.reusable() || request.fresh) return;
  connection->used = true;
  if (!connection->stream->idle_and_open()) {
    // A read that filled its buffer exactly leaves it open whether more waits: ask.
    std::byte probe[1];
    connection->stream->try_read(probe);
  }
  session.put_idle(std::move(connection));
}

// Opening a connection: name, address, TCP, TLS.

using runtime::IpAddress;
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

task<bool> Client::open_tunnel(Connection& connection, Origin& origin, Instant deadline, Response& response,
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
