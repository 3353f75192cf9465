#include "election/store/web/web_client.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "election/store/dial.h"

namespace bellwether::store {

using ReadState = http1::ResponseReader::State;

Status LineReader::take(ReadState state) {
  if (state == ReadState::kFailed) {
    const bool closed = reader_.error() == http1::ErrorKind::kClosed || reader_.error() == http1::ErrorKind::kTruncated;
    if (closed) return fail(Errc::kClosed, "the server closed the connection");
    return fail(Errc::kProtocol, std::string("this is not an HTTP response: ") + reader_.detail());
  }
  if (!reader_.has_head()) return {};
  over_ = state == ReadState::kDone;
  text_.erase(0, std::exchange(begin_, 0));
  text_ += over_ ? std::string(reader_.body()) : reader_.take_piece();
  const std::size_t last_end = text_.rfind('\n');
  const std::size_t open = text_.size() - (last_end == std::string::npos ? 0 : last_end + 1);
  if (open > kMaxLine) return fail(Errc::kProtocol, "a line of the response is too long");
  return {};
}

std::optional<std::string> LineReader::next() {
  const std::size_t end = text_.find('\n', begin_);
  if (end == std::string::npos && (!over_ || begin_ == text_.size())) return std::nullopt;
  std::string line = text_.substr(begin_, end == std::string::npos ? end : end - begin_);
  begin_ = end == std::string::npos ? text_.size() : end + 1;
  return line;
}

using runtime::task;

task<bool> WebWatch::changed(runtime::Cancellation* cancel) {
  if (!keeping_.valid()) {
    keeping_ = keep_listening(runtime_, refused_, [this](Instant begun) {
      return source_.listen(*this, begun + kBeginWithin, begun + kLife);
    });
  }
  runtime::CancelCallback on_cancel(
      cancel, [](void* self) { static_cast<WebWatch*>(self)->woken_.set(); }, this);
  co_await woken_.wait();
  woken_.reset();
  if (cancel != nullptr && cancel->cancelled()) {
    keeping_ = {};
    co_return false;
  }
  co_return std::exchange(may_have_, false);
}

bool WebWatch::on_line(std::string_view line) {
  const Word word = source_.hear(line);
  if (word == Word::kChanged) {
    may_have_ = true;
    woken_.set();
  }
  return word != Word::kEnd;
}

using http1::ErrorKind;
using runtime::Io;

namespace {

constexpr int kOk = 200;
constexpr std::size_t kMaxRefusal = 64u << 10;

tl::unexpected<Error> failure(const std::string& server, Errc why) {
  switch (why) {
    case Errc::kCancelled: return fail(why, server + ": cancelled");
    case Errc::kTimeout: return fail(why, server + ": no answer in time");
    case Errc::kTls: return fail(why, server + ": the server closed TLS: does it require a certificate?");
    case Errc::kClosed: return fail(why, server + ": the server closed the connection");
    default: return fail(Errc::kReset, server + ": the server broke the connection");
  }
}

tl::unexpected<Error> failure(const std::string& server, const http1::Response& response) {
  switch (response.error) {
    case ErrorKind::kInterrupted: return failure(server, Errc::kCancelled);
    case ErrorKind::kTimeout: return failure(server, Errc::kTimeout);
    case ErrorKind::kTls: return failure(server, Errc::kTls);
    case ErrorKind::kClosed: return failure(server, Errc::kClosed);
    case ErrorKind::kProtocol:
    case ErrorKind::kTooLarge:
    case ErrorKind::kDecode: return fail(Errc::kProtocol, "{}: {}", server, response.detail);
    default: return failure(server, Errc::kReset);
  }
}

WebResponse answer_of(const http1::Response& response) {
  WebResponse answer;
  answer.status = response.status;
  answer.body = std::string(response.body);
  if (const auto seconds = parse_u64(response.head().header("Retry-After"))) {
    answer.retry_after = Duration::seconds(static_cast<int64_t>(std::min<uint64_t>(*seconds, 3600)));
  }
  return answer;
}

// Counts one more during its lifetime.
struct Counted {
  explicit Counted(std::size_t& c) : count(c) { ++count; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count; }
  std::size_t& count;
};

}  // namespace

WebClient::WebClient(runtime::Runtime& runtime, std::vector<HostPort> hosts, std::shared_ptr<runtime::TlsContext> tls)
    : runtime_(runtime), tls_(std::move(tls)), client_(runtime) {
  for (HostPort& host : hosts) {
    Server& server = servers_.emplace_back();
    server.origin.tls = tls_ != nullptr;
    server.origin.host = host.host;
    server.origin.port = host.port;
    server.origin.tls_context = tls_;
    server.at = std::move(host);
  }
}
WebClient::~WebClient() = default;

std::string WebClient::where() const { return to_string(servers_[host_].at); }

void WebClient::avoid() { turn_to((host_ + 1) % servers_.size()); }

void WebClient::turn_to(std::size_t host) {
  const std::size_t before = std::exchange(host_, host);
  if (before != host) servers_[before].session.close_idle();
}

std::string WebClient::head_of(const WebRequest& request) const {
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, request.target, where());
  for (const std::string& field : request.fields) head += field + "\r\n";
  return fmt::format("{}Content-Length: {}\r\n", head, request.body.size());
}

// A silent server must leave time for the others.
task<Result<std::unique_ptr<http1::Connection>>> WebClient::dial_any(Instant deadline, runtime::Cancellation* cancel) {
  Error last;
  std::size_t tried = host_;
  for (std::size_t left = servers_.size(); left > 0; --left) {
    const Instant now = runtime_.read_clock();
    const Instant until = now + (deadline - now) / static_cast<int64_t>(left);
    auto stream = co_await dial(runtime_, servers_[tried].at, tls_, until, cancel);
    if (stream) {
      turn_to(tried);
      auto connection = std::make_unique<http1::Connection>();
      connection->stream = std::move(*stream);
      connection->origin = &servers_[tried].origin;
      co_return connection;
    }
    last = stream.error();
    tried = (tried + 1) % servers_.size();
    if (last.code == Errc::kCancelled) break;
  }
  co_return tl::unexpected(last);
}

task<Result<WebResponse>> WebClient::call(WebRequest request, Instant deadline, runtime::Cancellation* cancel) {
  runtime::Until until(runtime_, deadline, cancel);
  Turn turn(turns_, until.cancellation());
  co_await turn.woken().wait();
  if (!turn.granted() || until.over()) co_return failure(where(), until.why());

  while (true) {
    auto connection = servers_[host_].session.take_idle(servers_[host_].origin);
    const bool kept = connection != nullptr;
    if (!kept) {
      BW_CO_TRY(connection, co_await dial_any(deadline, cancel));
    }
    const std::size_t host = host_;
    Server& server = servers_[host];
    server.session.put_idle(std::move(connection));
    const std::string name = where();
    const std::string head = head_of(request);
    http1::CallLimits limits;
    limits.timeout = limits.first_byte_timeout = deadline - runtime_.now();
    limits.body_bytes_max = kMaxBody;
    limits.redirects_max = 0;
    http1::Request asked;
    asked.origin = &server.origin;
    asked.method = request.method;
    asked.target = request.target;
    asked.head = head;
    asked.body = request.body;
    asked.limits = &limits;
    asked.want_body = true;
    asked.once = true;  // the second time may be another server's turn
    http1::Response response;
    co_await client_.exchange(server.session, asked, response, cancel);
    if (host != host_) server.session.close_idle();
    if (response.error == ErrorKind::kNone) co_return answer_of(response);
    const bool closed = response.error == ErrorKind::kReset || response.error == ErrorKind::kClosed;
    if (kept && closed && response.bytes_received == 0 && request.repeatable) continue;
    if (response.error != ErrorKind::kInterrupted && host == host_) avoid();
    co_return failure(name, response);
  }
}

// The client returns only whole responses, and this one never is; so this function reads it as it comes.
task<Result<WebResponse>> WebClient::stream(WebRequest request, WebWatch& watch, Instant begin_by, Instant deadline,
                                            runtime::Cancellation* cancel) {
  if (streams_ == kMaxStreams) co_return fail(Errc::kExhausted, where() + ": too many connections to it are open");
  const Counted counted(streams_);
  // Only to the server that calls go to: where they go is not for a stream to decide.
  const std::string server = where();
  const std::string bytes = fmt::format("{}\r\n{}", head_of(request), request.body);
  BW_CO_TRY(const auto stream, co_await dial(runtime_, servers_[host_].at, tls_, begin_by, cancel));
  std::optional<runtime::Within> within(std::in_place, runtime_, *stream, begin_by, cancel);
  WebResponse response;
  LineReader reader(buffers_);
  Errc failed = co_await runtime::write_all(*stream, as_bytes(bytes));
  while (failed == Errc::kOk && !reader.over()) {
    failed = co_await stream->readable();
    if (failed != Errc::kOk) break;
    const Io io = stream->try_read(reader.space());
    if (io.kind == Io::Kind::kWouldBlock) continue;
    if (io.kind == Io::Kind::kError) co_return failure(server, io.error);
    const Status taken = io.kind == Io::Kind::kEnd ? reader.ended() : reader.received(io.count);
    if (!taken) co_return fail(taken.error().code, "{}: {}", server, taken.error().message);
    if (response.status == 0 && reader.status() == kOk) within.emplace(runtime_, *stream, deadline, cancel);
    response.status = reader.status();
    while (const auto line = reader.next()) {
      if (response.status == kOk && !watch.on_line(*line)) co_return response;
      if (response.status != kOk && response.body.size() < kMaxRefusal) response.body += *line + "\n";
    }
  }
  const bool came_to_its_time = failed == Errc::kTimeout && response.status == kOk;
  if (failed == Errc::kOk || came_to_its_time) co_return response;
  co_return failure(server, failed);
}

}  // namespace bellwether::store
