#include "target/connection.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/http1/body_coding.h"

namespace bellwether::target {
namespace {

using http1::Parse;
using http1::RequestHead;
using runtime::CancelCallback;
using runtime::Cancellation;
using runtime::Stream;
using runtime::task;
using Framing = RequestHead::Framing;

constexpr uint64_t kMaxBody = 64 * 1024 * 1024;               // of a body that is read and forgotten
constexpr std::size_t kMaxKeptBody = 1024 * 1024;             // of one that the answer depends on
constexpr std::size_t kMaxHead = RequestHead::kMaxBytes + 1;  // one more shows that a head is too long
constexpr uint64_t kLinesAtOnce = 512;
constexpr Duration kLinger = Duration::seconds(1);

// What of a request is needed after its head has left the buffer.
struct Request {
  bool is_head;
  bool keep_alive;
  bool is_old;  // HTTP/1.0: knows neither kept connections nor chunks unless told
  bool expects_continue;
  Framing framing;
  uint64_t content_length;
};

Request remember(const RequestHead& head) {
  return {head.method == "HEAD", head.keep_alive, head.minor_version == 0,
          head.expect_continue,  head.framing,    head.content_length};
}

std::string_view connection_field(const Request& request) {
  if (!request.keep_alive) return "Connection: close\r\n";
  return request.is_old ? "Connection: keep-alive\r\n" : "";
}

class Connection {
 public:
  Connection(Service& service, Stream& stream, Cancellation* cancel)
      : service_(service), stream_(stream), cancel_(cancel), in_(stream), out_(stream) {}

  task<void> run() {
    while (true) {
      RequestHead& head = service_.head;
      std::size_t consumed = 0;
      const char* reason = "";
      const Parse parsed = http1::parse_request_head(in_.unread(), scan_from_, head, consumed, reason);
      if (parsed == Parse::kDone) {
        scan_from_ = 0;
        ++service_.requests;
        if (answer_at_once(head, in_.unread().size() > consumed)) {
          in_.consume(consumed);
          continue;
        }
        Answer answer =
            service_.faults.fails(service_.prng) ? error_answer(500, "one of --error-rate") : answer_to(head);
        const Request request = remember(head);
        in_.consume(consumed);
        const bool go_on = co_await respond(request, std::move(answer));
        if (!go_on) break;
        continue;
      }
      if (parsed != Parse::kMore) {
        co_await refuse(parsed == Parse::kTooLarge ? 431 : 400, reason);
        break;
      }
      if (!out_.empty()) {
        const bool sent = co_await out_.flush();
        if (!sent) break;
      }
      const bool received = co_await in_.receive(kMaxHead);
      if (!received) break;
    }
  }

 private:
  // The usual case: a request without a body for something that is always the same, on a target without faults.
  // `more`: another request has come behind it, whose answer may go out with this one.
  bool answer_at_once(const RequestHead& head, bool more) {
    if (service_.faults.any() || out_.pending() > OutBuffer::kMaxPending || head.framing != Framing::kNone ||
        !head.keep_alive || head.minor_version == 0) {
      return false;
    }
    const Ready* ready = Catalogue::get().find(head.path);
    if (ready == nullptr) return false;
    const std::string_view bytes = ready->answer_to(head.method);
    if (bytes.empty()) return false;
    if (more) {
      out_.append(bytes);
    } else {
      out_.send_soon(bytes);
    }
    return true;
  }

  task<void> refuse(int status, const char* reason) {
    const Request request{false, false, false, false, Framing::kNone, 0};
    const Answer answer = error_answer(status, reason);
    const bool sent = co_await send_text(request, answer, answer.text);
    if (sent) co_await close_in_order();
  }

  // False: the connection ends.
  task<bool> respond(Request request, Answer answer) {
    const Instant arrival = service_.runtime.read_clock();
    std::string body;
    const Errc read = co_await read_body(request, answer.wants_body() ? &body : nullptr);
    if (read == Errc::kTooLarge) {
      co_await refuse(413, "the body is larger than this server takes");
      co_return false;
    }
    if (read == Errc::kProtocol) {
      co_await refuse(400, "the body breaks the chunked coding");
      co_return false;
    }
    if (read != Errc::kOk) co_return false;
    if (answer.kind == Answer::Kind::kLogin) answer_login(body, service_.prng, answer);
    const Instant due = service_.faults.answer_at(arrival + answer.delay, service_.prng);
    if (due > arrival) {
      const bool waited = co_await service_.runtime.sleep_until(due, cancel_);
      if (!waited) co_return false;
    }
    const bool sent = co_await send(request, answer, body);
    if (!sent) co_return false;
    if (answer.then != Answer::Then::kGoOn) {
      co_await end_as(answer.then);
      co_return false;
    }
    if (request.keep_alive) co_return true;
    const bool flushed = co_await out_.flush();
    if (flushed) co_await close_in_order();
    co_return false;
  }

  task<bool> send(Request& request, const Answer& answer, std::string_view body) {
    switch (answer.kind) {
      case Answer::Kind::kReady: return send_ready(request, *answer.ready);
      case Answer::Kind::kFill: return send_fill(request, answer);
      case Answer::Kind::kLines: return send_lines(request, answer);
      case Answer::Kind::kEcho: return send_text(request, answer, body);
      case Answer::Kind::kRaw: return send_raw(answer.text);
      case Answer::Kind::kText:
      case Answer::Kind::kLogin: break;
    }
    return send_text(request, answer, answer.text);
  }

  task<bool> send_raw(std::string_view text) {
    out_.append(text);
    return out_.flush();
  }

  task<bool> send_text(const Request& request, const Answer& answer, std::string_view body) {
    const std::string length = fmt::format("Content-Length: {}\r\n", body.size());
    append_head(out_.text(), answer, is_bodiless(answer.status) ? "" : length, connection_field(request));
    if (!request.is_head && !is_bodiless(answer.status)) out_.append(body);
    return out_.flush();
  }

  // The connection field goes before the empty line of the head that was built without one.
  task<bool> send_ready(const Request& request, const Ready& ready) {
    const std::string_view bytes = ready.bytes;
    const std::size_t fields_end = ready.head_size - 2;
    out_.append(bytes.substr(0, fields_end));
    out_.append(connection_field(request));
    out_.append(bytes.substr(fields_end, request.is_head ? 2 : std::string_view::npos));
    return out_.flush();
  }

  task<bool> send_fill(const Request& request, const Answer& answer) {
    static const std::string block(OutBuffer::kMaxPending, 'x');
    const std::string length = fmt::format("Content-Length: {}\r\n", answer.count);
    append_head(out_.text(), answer, length, connection_field(request));
    uint64_t left = request.is_head ? 0 : answer.count;
    do {
      const std::size_t size = std::min<uint64_t>(left, block.size());
      out_.append(std::string_view(block).substr(0, size));
      left -= size;
      const bool sent = co_await out_.flush();
      if (!sent) co_return false;
    } while (left > 0);
    co_return true;
  }

  // Old clients know no chunks: for them the end of the connection is the end of the body.
  task<bool> send_lines(Request& request, const Answer& answer) {
    if (request.is_old) request.keep_alive = false;
    append_head(out_.text(), answer, request.is_old ? "" : "Transfer-Encoding: chunked\r\n", connection_field(request));
    const uint64_t lines = request.is_head ? 0 : answer.count;
    std::string chunk;
    for (uint64_t line = 0; line < lines;) {
      chunk.clear();
      const uint64_t end = std::min(lines, line + kLinesAtOnce);
      while (line < end) chunk += fmt::format("line {}\n", ++line);
      if (!request.is_old) out_.append_chunk_size(chunk.size());
      out_.append(chunk);
      if (!request.is_old) out_.append("\r\n");
      const bool sent = co_await out_.flush();
      if (!sent) co_return false;
    }
    if (!request.is_old && !request.is_head) out_.append("0\r\n\r\n");
    const bool sent = co_await out_.flush();
    co_return sent;
  }

  // Takes the body off the connection, into `keep` when there is one. kTooLarge, kProtocol, kClosed: the client is
  // gone.
  task<Errc> read_body(const Request& request, std::string* keep) {
    if (request.framing == Framing::kNone) co_return Errc::kOk;
    const uint64_t most = keep != nullptr ? kMaxKeptBody : kMaxBody;
    if (request.framing == Framing::kLength && request.content_length > most) co_return Errc::kTooLarge;
    if (request.expects_continue) {
      out_.append("HTTP/1.1 100 Continue\r\n\r\n");
      const bool sent = co_await out_.flush();
      if (!sent) co_return Errc::kClosed;
    }
    uint64_t left = request.content_length;
    uint64_t have = 0;
    http1::ChunkedDecoder chunks;
    while (true) {
      const std::span<char> unread = in_.unread_bytes();
      std::size_t produced = std::min<uint64_t>(left, unread.size());
      std::size_t consumed = produced;
      bool done = left == produced;
      if (request.framing == Framing::kChunked) {
        const auto step = chunks.decode(unread.data(), unread.size());
        if (step.state == Parse::kBad || step.state == Parse::kTooLarge) co_return Errc::kProtocol;
        produced = step.produced;
        consumed = step.consumed;
        done = step.state == Parse::kDone;
      } else {
        left -= produced;
      }
      have += produced;
      if (have > most) co_return Errc::kTooLarge;
      if (keep != nullptr) keep->append(unread.data(), produced);
      in_.consume(consumed);
      if (done) co_return Errc::kOk;
      const bool received = co_await in_.receive(kMaxHead);
      if (!received) co_return Errc::kClosed;
    }
  }

  task<void> end_as(Answer::Then then) {
    if (then == Answer::Then::kReset) {
      stream_.reset_when_closed();
    } else if (then == Answer::Then::kClose) {
      co_await close_in_order();
    } else {
      co_await in_.forget_until_end();
    }
  }

  // Closing with bytes of the client unread would reset the connection and might take away what was sent.
  task<void> close_in_order() {
    stream_.finish_writing();
    runtime::Timer timer([](void* stream) { static_cast<Stream*>(stream)->interrupt(Errc::kTimeout); }, &stream_);
    service_.runtime.timers().arm(timer, service_.runtime.now() + kLinger);
    co_await in_.forget_until_end();
  }

  Service& service_;
  Stream& stream_;
  Cancellation* cancel_;
  InBuffer in_;
  OutBuffer out_;
  std::size_t scan_from_ = 0;
};

}  // namespace

task<void> serve(Service* service, std::unique_ptr<Stream> stream, Cancellation* cancel) {
  ++service->connections;
  CancelCallback on_cancel(
      cancel, [](void* s) { static_cast<Stream*>(s)->interrupt(Errc::kCancelled); }, stream.get());
  Connection connection(*service, *stream, cancel);
  co_await connection.run();
}

using runtime::Io;
using runtime::task;

void InBuffer::make_room(std::size_t most) {
  if (begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == bytes_.size()) bytes_.resize(std::min(most, 2 * bytes_.size()));
}

task<bool> InBuffer::receive(std::size_t most) {
  if (end_ == bytes_.size()) make_room(most);
  check(end_ < bytes_.size(), "a head or a body is taken off the buffer before it is full");
  while (true) {
    const Errc interrupted = co_await stream_.readable();
    if (interrupted != Errc::kOk) co_return false;
    const Io io = stream_.try_read(std::as_writable_bytes(std::span(bytes_).subspan(end_)));
    if (io.kind == Io::Kind::kWouldBlock) continue;
    if (io.kind != Io::Kind::kDone) co_return false;
    end_ += io.count;
    co_return true;
  }
}

task<void> InBuffer::forget_until_end() {
  bool more = true;
  while (more) {
    begin_ = end_ = 0;
    more = co_await receive(bytes_.size());
  }
}

void OutBuffer::append_chunk_size(std::size_t size) {
  char line[24];
  const int length = std::snprintf(line, sizeof line, "%zx\r\n", size);
  text_.append(line, static_cast<std::size_t>(length));
}

void OutBuffer::send_soon(std::string_view bytes) {
  if (text_.empty()) {
    const Io io = stream_.try_write(as_bytes(bytes));
    if (io.kind == Io::Kind::kDone) bytes.remove_prefix(io.count);
  }
  text_ += bytes;
}

task<bool> OutBuffer::flush() {
  std::size_t sent = 0;
  while (sent < text_.size()) {
    const Io io = stream_.try_write(as_bytes(text_).subspan(sent));
    if (io.kind == Io::Kind::kDone) {
      sent += io.count;
      continue;
    }
    if (io.kind != Io::Kind::kWouldBlock) co_return false;
    const Errc interrupted = co_await stream_.writable();
    if (interrupted != Errc::kOk) co_return false;
  }
  text_.clear();
  co_return true;
}

}  // namespace bellwether::target
