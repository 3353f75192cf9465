// A way through a proxy to a server that speaks TLS: CONNECT (RFC 9110, section 9.3.6).
#include <memory>
#include <string>

#include "protocol/http1/client.h"

namespace bellwether::http1 {

using metrics::ErrorKind;
using runtime::Io;
using runtime::task;

namespace {

// A proxy has less to say than a server.
constexpr std::size_t kHeadMost = 16 << 10;
// Interim responses that are passed over.
constexpr int kInterimMost = 8;

// Ends a wait by interrupting the stream, in time or when asked to.
struct Watch {
  Watch(runtime::Runtime& runtime, runtime::Stream& stream_, Instant deadline, runtime::Cancellation* cancel)
      : stream(stream_),
        timer([](void* s) { static_cast<runtime::Stream*>(s)->interrupt(Errc::kTimeout); }, &stream_),
        on_cancel(
            cancel, [](void* s) { static_cast<runtime::Stream*>(s)->interrupt(Errc::kCancelled); }, &stream_) {
    runtime.timers().arm(timer, deadline);
  }
  runtime::Stream& stream;
  runtime::Timer timer;
  runtime::CancelCallback on_cancel;
};

ErrorKind interrupted(Errc why) {
  return why == Errc::kCancelled ? ErrorKind::kInterrupted : ErrorKind::kConnectTimeout;
}

task<ErrorKind> send_all(runtime::Stream& stream, std::string_view bytes) {
  while (!bytes.empty()) {
    const Io io = stream.try_write(as_bytes(bytes));
    if (io.kind == Io::Kind::kError) co_return ErrorKind::kProxy;
    bytes.remove_prefix(io.count);
    if (bytes.empty()) break;
    const Errc waited = co_await stream.writable();
    if (waited != Errc::kOk) co_return interrupted(waited);
  }
  co_return ErrorKind::kNone;
}

// Nothing may follow the head: the server says nothing before we do.
task<ErrorKind> read_answer(runtime::Stream& stream, int& status) {
  std::string bytes(kHeadMost, '\0');
  std::size_t filled = 0;
  std::size_t scanned = 0;
  for (int interim = 0; interim <= kInterimMost;) {
    const auto head = std::make_unique<ResponseHead>();
    std::size_t consumed = 0;
    const char* reason = "";
    // As after HEAD, there is no body, whatever the fields say.
    const Parse parsed =
        parse_response_head(std::string_view(bytes).substr(0, filled), true, scanned, *head, consumed, reason);
    if (parsed == Parse::kDone && head->status < 200) {
      bytes.erase(0, consumed);
      bytes.resize(kHeadMost);
      filled -= consumed;
      scanned = 0;
      ++interim;
      continue;
    }
    if (parsed == Parse::kDone) {
      status = head->status;
      const bool opened = status < 300 && consumed == filled;
      co_return opened ? ErrorKind::kNone : ErrorKind::kProxy;
    }
    if (parsed != Parse::kMore || filled == bytes.size()) co_return ErrorKind::kProxy;
    const Errc waited = co_await stream.readable();
    if (waited != Errc::kOk) co_return interrupted(waited);
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
  const Watch watch(runtime_, stream, deadline, cancel);
  const std::string asked = connect_head(origin.host, origin.port, *origin.proxy);
  ErrorKind error = co_await send_all(stream, asked);
  if (error == ErrorKind::kNone) error = co_await read_answer(stream, response.proxy_status);
  if (error == ErrorKind::kNone) co_return true;
  response.error = error;
  response.detail = "the proxy opened no tunnel";
  co_return false;
}

}  // namespace bellwether::http1
