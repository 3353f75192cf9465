#include "election/store/web/web_client.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/http1/client_reader.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/until.h"
#include "election/store/dial.h"
#include "election/store/web/line_reader.h"

namespace bellwether::store {

using http1::ResponseReader;
using runtime::Io;
using runtime::task;

namespace {

constexpr int kOk = 200;
constexpr std::size_t kRefusalMax = 64u << 10;

tl::unexpected<Error> interrupted(const std::string& server, Errc why) {
  return fail(why, server + (why == Errc::kCancelled ? ": cancelled" : ": no answer in time"));
}

tl::unexpected<Error> broken(const std::string& server, const Io& io) {
  if (io.error == Errc::kTls) return fail(Errc::kTls, server + ": the server ended TLS: it wants a certificate?");
  return fail(Errc::kReset, server + ": the server broke the connection");
}

// One more of what is counted, for as long as it lives.
struct Counted {
  explicit Counted(std::size_t& c) : count(c) { ++count; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count; }
  std::size_t& count;
};

}  // namespace

// Ends the waits of an exchange when its time is up or its caller cancels.
struct WebClient::Attempt {
  Attempt(runtime::Runtime& runtime, runtime::Stream& s, Instant deadline, runtime::Cancellation* cancel)
      : stream(s), timer(&Attempt::late, this), on_cancel(cancel, &Attempt::cancelled, this) {
    runtime.timers().arm(timer, deadline);
  }
  static void late(void* self) { static_cast<Attempt*>(self)->stream.interrupt(Errc::kTimeout); }
  static void cancelled(void* self) { static_cast<Attempt*>(self)->stream.interrupt(Errc::kCancelled); }
  runtime::Stream& stream;
  runtime::Timer timer;
  runtime::CancelCallback on_cancel;
};

WebClient::WebClient(runtime::Runtime& runtime, std::vector<HostPort> hosts, std::shared_ptr<runtime::TlsContext> tls)
    : runtime_(runtime), hosts_(std::move(hosts)), tls_(std::move(tls)) {}
WebClient::~WebClient() = default;

std::string WebClient::where() const { return to_string(hosts_[host_]); }

void WebClient::avoid() { turn_to((host_ + 1) % hosts_.size()); }

void WebClient::turn_to(std::size_t host) {
  if (std::exchange(host_, host) != host) idle_.clear();
}

std::string WebClient::bytes_of(const WebRequest& request) const {
  std::string bytes = request.method + " " + request.target + " HTTP/1.1\r\nHost: " + where() + "\r\n";
  for (const std::string& field : request.fields) bytes += field + "\r\n";
  bytes += "Content-Length: " + std::to_string(request.body.size()) + "\r\n\r\n" + request.body;
  return bytes;
}

std::unique_ptr<runtime::Stream> WebClient::take_idle() {
  while (!idle_.empty()) {
    auto stream = std::move(idle_.back());
    idle_.pop_back();
    if (stream->idle_and_open()) return stream;
  }
  return nullptr;
}

// One that does not answer must leave time for the others.
task<Result<std::unique_ptr<runtime::Stream>>> WebClient::dial_any(Instant deadline, runtime::Cancellation* cancel) {
  Error last;
  std::size_t tried = host_;
  for (std::size_t left = hosts_.size(); left > 0; --left) {
    const Instant now = runtime_.read_clock();
    const Instant until = now + (deadline - now) / static_cast<int64_t>(left);
    HostPort host = hosts_[tried];
    auto stream = co_await dial(runtime_, std::move(host), tls_, until, cancel);
    if (stream) {
      turn_to(tried);
      co_return stream;
    }
    last = stream.error();
    tried = (tried + 1) % hosts_.size();
    if (last.code == Errc::kCancelled) break;
  }
  co_return tl::unexpected(last);
}

task<Result<WebResponse>> WebClient::call(WebRequest request, Instant deadline, runtime::Cancellation* cancel) {
  runtime::Until until(runtime_, deadline, cancel);
  Turn turn(turns_, until.cancellation());
  co_await turn.woken().wait();
  if (!turn.granted() || until.over()) co_return fail(until.why(), where() + ": no answer in time");

  std::unique_ptr<runtime::Stream> stream = take_idle();
  while (true) {
    const bool kept = stream != nullptr;
    if (!kept) {
      BW_CO_TRY(stream, co_await dial_any(deadline, cancel));
    }
    bool heard = false;
    bool reusable = false;
    std::string bytes = bytes_of(request);
    const std::size_t host = host_;
    auto response = co_await exchange(*stream, std::move(bytes), deadline, cancel, heard, reusable);
    if (response) {
      if (reusable && host == host_ && stream->idle_and_open()) idle_.push_back(std::move(stream));
      co_return response;
    }
    stream = nullptr;
    const bool closed = response.error().code == Errc::kReset || response.error().code == Errc::kClosed;
    if (kept && closed && !heard && request.repeatable) continue;
    if (response.error().code != Errc::kCancelled && host == host_) avoid();
    co_return tl::unexpected(response.error());
  }
}

task<Status> WebClient::send(runtime::Stream& stream, std::string_view bytes, const std::string& server) {
  while (!bytes.empty()) {
    const Io io = stream.try_write(as_bytes(bytes));
    if (io.kind == Io::Kind::kDone) {
      bytes.remove_prefix(io.count);
    } else if (io.kind == Io::Kind::kWouldBlock) {
      const Errc waited = co_await stream.writable();
      if (waited != Errc::kOk) co_return interrupted(server, waited);
    } else {
      co_return fail(Errc::kReset, server + ": the connection broke while the request was sent");
    }
  }
  co_return Status();
}

task<Result<WebResponse>> WebClient::exchange(runtime::Stream& stream, std::string bytes, Instant deadline,
                                              runtime::Cancellation* cancel, bool& heard, bool& reusable) {
  const std::string server = where();
  Attempt attempt(runtime_, stream, deadline, cancel);
  BW_CO_RETURN_IF_ERROR(co_await send(stream, bytes, server));
  ResponseReader reader(buffers_, false, true, kBodyMax);
  auto state = ResponseReader::State::kMore;
  while (state == ResponseReader::State::kMore) {
    const Errc waited = co_await stream.readable();
    if (waited != Errc::kOk) co_return interrupted(server, waited);
    const Io io = stream.try_read(reader.space());
    if (io.kind == Io::Kind::kWouldBlock) continue;
    if (io.kind == Io::Kind::kError) co_return broken(server, io);
    heard = heard || io.kind == Io::Kind::kDone;
    state = io.kind == Io::Kind::kEnd ? reader.ended() : reader.received(io.count);
  }
  if (state == ResponseReader::State::kFailed) {
    const bool closed = reader.bytes_received() == 0;
    co_return fail(closed ? Errc::kClosed : Errc::kProtocol,
                   server + ": " + (closed ? "the server closed the connection" : reader.detail()));
  }
  WebResponse response;
  response.body = std::string(reader.body());
  reusable = reader.reusable();
  const http1::BufferPool::Lease buffer = reader.take_buffer();
  response.status = buffer->head.status;
  if (const auto seconds = parse_u64(buffer->head.header("Retry-After"))) {
    response.retry_after = Duration::seconds(static_cast<int64_t>(std::min<uint64_t>(*seconds, 3600)));
  }
  co_return response;
}

task<Result<WebResponse>> WebClient::stream(WebRequest request, LineSink& sink, Instant begin_by, Instant deadline,
                                            runtime::Cancellation* cancel) {
  if (streams_ == kStreamsMax) co_return fail(Errc::kExhausted, where() + ": there are enough connections to it");
  const Counted counted(streams_);
  // Only to the server that calls go to: where they go is not for a stream to decide.
  const std::string server = where();
  const std::string bytes = bytes_of(request);
  HostPort host = hosts_[host_];
  BW_CO_TRY(auto stream, co_await dial(runtime_, std::move(host), tls_, begin_by, cancel));
  Attempt attempt(runtime_, *stream, begin_by, cancel);
  BW_CO_RETURN_IF_ERROR(co_await send(*stream, bytes, server));
  WebResponse response;
  const Status followed = co_await follow(attempt, sink, deadline, response);
  if (followed) co_return response;
  const bool came_to_its_time = followed.error().code == Errc::kTimeout && response.status == kOk;
  if (came_to_its_time) co_return response;
  co_return fail(followed.error().code, server + ": " + followed.error().message);
}

task<Status> WebClient::follow(Attempt& attempt, LineSink& sink, Instant deadline, WebResponse& response) {
  LineReader reader;
  std::string piece;
  while (!reader.over()) {
    const Errc waited = co_await attempt.stream.readable();
    if (waited != Errc::kOk) co_return fail(waited, waited == Errc::kCancelled ? "cancelled" : "no answer in time");
    piece.resize(http1::ResponseBuffer::kBytes);
    const Io io = attempt.stream.try_read(std::as_writable_bytes(std::span(piece)));
    if (io.kind == Io::Kind::kWouldBlock) continue;
    if (io.kind == Io::Kind::kError) co_return fail(Errc::kReset, "the server broke the connection");
    piece.resize(io.kind == Io::Kind::kDone ? io.count : 0);
    BW_CO_RETURN_IF_ERROR(io.kind == Io::Kind::kEnd ? reader.close() : reader.feed(piece));
    if (response.status == 0 && reader.status() == kOk) runtime_.timers().arm(attempt.timer, deadline);
    response.status = reader.status();
    while (const auto line = reader.next()) {
      if (response.status == kOk && !sink.on_line(*line)) co_return Status();
      if (response.status != kOk && response.body.size() < kRefusalMax) response.body += *line + "\n";
    }
  }
  co_return Status();
}

}  // namespace bellwether::store
