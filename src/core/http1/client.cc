#include "core/http1/client.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/host_port.h"
#include "core/http1/url.h"

namespace bellwether::http1 {
namespace {

bool describes_body(std::string_view name) {
  return iequals(name, "content-length") || iequals(name, "content-type") || iequals(name, "content-encoding") ||
         iequals(name, "transfer-encoding");
}

bool is_credential(std::string_view name) {
  return iequals(name, "authorization") || iequals(name, "cookie") || iequals(name, "proxy-authorization");
}

// Where the request goes, as an URL.
Url url_of(const Request& request) {
  const Origin& origin = *request.origin;
  return {origin.tls, origin.host, origin.port, std::string(request.target),
          authority_of(origin.tls, origin.host, origin.port)};
}

// Whether the user chose a Host that is not where the request goes.
bool has_other_host(const Request& request) {
  constexpr std::string_view kName = "\r\nhost:";
  const std::string_view head = request.head;
  const auto at = std::search(head.begin(), head.end(), kName.begin(), kName.end(),
                              [](char a, char b) { return ascii_lower(a) == b; });
  if (at == head.end()) return false;
  const std::string_view rest = head.substr(static_cast<std::size_t>(at - head.begin()) + kName.size());
  const std::string_view value = trim(rest.substr(0, rest.find("\r\n")));
  const Origin& origin = *request.origin;
  return !iequals(value, authority_of(origin.tls, origin.host, origin.port)) &&
         !iequals(value, to_string(HostPort{origin.host, origin.port}));
}

}  // namespace

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

std::string Response::url() const {
  if (origin == nullptr) return {};
  return fmt::format("http{}://{}{}", origin->tls ? "s" : "", authority_of(origin->tls, origin->host, origin->port),
                     target);
}

task<void> Client::exchange(Session& session, const Request& request, Response& response,
                            runtime::Cancellation* cancel) {
  response.started = runtime_.now();
  response.origin = request.origin;
  response.target = request.target;
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
    const TlsSettings& tls = request.tls != nullptr ? *request.tls : request.origin->tls_settings;
    const bool same_host = iequals(next.host, request.origin->host);
    auto origin = origins_.find(next.tls, next.host, next.port, same_host ? tls : tls.for_another_server(), proxy);
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
    response.origin = hop.origin;
    response.moved_to = std::make_unique<std::string>(hop.target);
    response.target = *response.moved_to;
    response.status = 0;
    response.body = {};
    response.first_byte = {};
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
  response.first_byte = {};
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
  Session& kept = shared_ == nullptr ? session : shared_->session();
  std::unique_ptr<Connection> connection = request.fresh ? nullptr : kept.take_idle(*request.origin);
  while (true) {
    if (connection == nullptr && !is_over(runtime_.now())) {
      connection = co_await connector_.open(kept, shared_.get(), request, response, deadline, cancel);
    }
    // The turn of the loop may have begun before the limit, and this process may have been stopped since.
    const Instant sent = runtime_.read_clock();
    if (is_over(sent)) [[unlikely]] {
      connection = nullptr;
      response.error = ErrorKind::kInterrupted;
    }
    if (connection == nullptr) {
      response.done = sent;
      if (watch_ != nullptr) watch_->received(session, response);
      co_return;
    }
    runtime::Stream& stream = *connection->stream;
    Attempt attempt(runtime_, stream, cancel);
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
      ++response.repeats;
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
  if (shared_ == nullptr) {
    session.put_idle(std::move(connection));
  } else {
    shared_->put(std::move(connection));
  }
}

RedirectedRequest follow_redirect(const Request& request, const ResponseHead& redirect) {
  RedirectedRequest next;
  const Url base = url_of(request);
  const auto url = resolve(base, redirect.location);
  if (!url) return next;
  next.valid = true;
  next.tls = url->tls;
  next.host = url->host;
  next.port = url->port;
  next.target = url->path_and_query;

  const int status = redirect.status;
  const bool keeps_method = status == 307 || status == 308 || request.method == "GET" || request.method == "HEAD";
  next.method = keeps_method ? std::string(request.method) : "GET";
  if (keeps_method) next.body = std::string(request.body);
  const bool same_origin =
      url->tls == request.origin->tls && url->port == request.origin->port && iequals(url->host, request.origin->host);

  const Proxy* proxy = request.proxies == nullptr ? nullptr : request.proxies->find(url->tls, url->host);
  const bool absolute = proxy != nullptr && !url->tls;
  next.head = fmt::format("{} {}{} HTTP/1.1\r\n", next.method, absolute ? "http://" + url->authority : std::string(),
                          next.target);
  const bool keeps_host = same_origin && has_other_host(request);
  if (!keeps_host) next.head += fmt::format("Host: {}\r\n", url->authority);
  if (absolute && !proxy->authorization.empty()) {
    next.head += fmt::format("Proxy-Authorization: {}\r\n", proxy->authorization);
  }
  std::string_view fields = request.head.substr(request.head.find("\r\n") + 2);
  while (!fields.empty()) {
    const std::string_view line = fields.substr(0, fields.find("\r\n"));
    fields.remove_prefix(line.size() + 2);
    const std::string_view name = line.substr(0, line.find(':'));
    // Credentials for a proxy go to that proxy only.
    if (request.proxies != nullptr && iequals(name, "proxy-authorization")) continue;
    if ((iequals(name, "host") && !keeps_host) || (!keeps_method && describes_body(name)) ||
        (!same_origin && is_credential(name)))
      continue;
    if (iequals(name, "cookie")) {
      const std::string left = without_cookies_of(line.substr(name.size() + 1), redirect);
      if (!left.empty()) next.head += fmt::format("{}: {}\r\n", name, left);
      continue;
    }
    next.head += line;
    next.head += "\r\n";
  }
  return next;
}

Request RedirectedRequest::request(const CallLimits& limits, bool want_body) const {
  Request made;
  made.method = method;
  made.target = target;
  made.head = head;
  made.body = body;
  made.limits = &limits;
  made.want_body = want_body;
  return made;
}

}  // namespace bellwether::http1
