// A server for tests of the client, on the client's own event loop: it gives prepared answers, in order, whichever
// connection a request comes in on, and keeps what it was sent.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <vector>

#include "core/http1/head.h"
#include "core/runtime/scope.h"
#include "core/runtime/stream_testing.h"
#include "core/runtime/tls.h"

namespace bellwether::http1 {

struct Answer {
  enum class Then : uint8_t {
    kKeep,    // waits for the next request
    kFinish,  // ends its side in an orderly way
    kReset,   // cuts the connection
    kStall,   // says nothing more
  };
  std::string bytes;
  Then then = Then::kKeep;
  Duration pause;  // between the first half of the bytes and the second
};

class TestServer {
 public:
  struct Request {
    std::string method;
    std::string target;
    std::string head;  // all of it
    std::string body;
    int connection = 0;  // counted from 1
  };

  explicit TestServer(runtime::Runtime& runtime, std::shared_ptr<runtime::TlsContext> tls = nullptr)
      : runtime_(runtime), tls_(std::move(tls)) {
    auto listener = runtime.listen({runtime::IpAddress::loopback(), 0}, {});
    check(listener.has_value(), "the loopback interface has ports");
    listener_ = std::move(*listener);
    scope_.spawn(accept_all());
  }
  ~TestServer() { scope_.cancel(); }  // the scope destroys what has not ended
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  uint16_t port() const { return listener_->local().port; }
  void answer(std::string bytes, Answer::Then then = Answer::Then::kKeep, Duration pause = Duration::zero()) {
    answers_.push_back({std::move(bytes), then, pause});
  }

  std::vector<Request> requests;
  int connections = 0;

 private:
  runtime::task<void> accept_all() {
    while (true) {
      auto accepted = co_await listener_->accept(scope_.cancellation());
      if (!accepted) co_return;
      ++connections;
      scope_.spawn(serve(std::move(*accepted), connections));
    }
  }

  runtime::task<void> serve(std::unique_ptr<runtime::Stream> stream, int number) {
    if (tls_ != nullptr) {
      auto secured =
          co_await runtime::tls_accept(runtime_, std::move(stream), tls_, Duration::seconds(30), scope_.cancellation());
      if (!secured) co_return;
      stream = std::move(*secured);
    }
    std::string input;
    while (true) {
      const bool more = co_await take_request(*stream, input, number);
      if (!more) co_return;
      const Answer next = take_answer();
      const std::size_t half = next.pause > Duration::zero() ? next.bytes.size() / 2 : next.bytes.size();
      const Errc sent = co_await runtime::send_all(*stream, next.bytes.substr(0, half));
      if (sent != Errc::kOk) co_return;
      if (half < next.bytes.size()) {
        co_await runtime_.sleep(next.pause, scope_.cancellation());
        co_await runtime::send_all(*stream, next.bytes.substr(half));
      }
      if (next.then == Answer::Then::kKeep) continue;
      if (next.then == Answer::Then::kReset) {
        const linger at_once{1, 0};
        ::setsockopt(static_cast<runtime::SocketStream&>(*stream).socket(), SOL_SOCKET, SO_LINGER, &at_once,
                     sizeof at_once);
        co_return;
      }
      if (next.then == Answer::Then::kFinish) stream->finish_writing();
      co_await runtime::receive(*stream, SIZE_MAX);
      co_return;
    }
  }

  // False: the client has ended the connection.
  runtime::task<bool> take_request(runtime::Stream& stream, std::string& input, int number) {
    RequestHead head;
    std::size_t consumed = 0;
    std::size_t scan_from = 0;
    const char* reason = "";
    while (true) {
      const Parse parsed = parse_request_head(input, scan_from, head, consumed, reason);
      check(parsed == Parse::kDone || parsed == Parse::kMore, "the client sends proper requests");
      if (parsed == Parse::kDone) break;
      const runtime::Received got = co_await runtime::receive(stream, 1);
      if (got.bytes.empty()) co_return false;
      input += got.bytes;
    }
    while (input.size() - consumed < head.content_length) {
      const runtime::Received got = co_await runtime::receive(stream, head.content_length - (input.size() - consumed));
      if (got.bytes.empty()) co_return false;
      input += got.bytes;
    }
    const auto size = static_cast<std::size_t>(head.content_length);
    std::string method(input.substr(0, input.find(' ')));
    std::string target(input.substr(method.size() + 1, input.find(' ', method.size() + 1) - method.size() - 1));
    requests.push_back({method, target, input.substr(0, consumed), input.substr(consumed, size), number});
    input.erase(0, consumed + size);
    co_return true;
  }

  Answer take_answer() {
    if (answers_.empty()) return {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Answer::Then::kKeep, {}};
    Answer next = std::move(answers_.front());
    answers_.pop_front();
    return next;
  }

  runtime::Runtime& runtime_;
  std::shared_ptr<runtime::TlsContext> tls_;
  std::unique_ptr<runtime::Listener> listener_;
  std::deque<Answer> answers_;
  runtime::Scope scope_;
};

}  // namespace bellwether::http1
