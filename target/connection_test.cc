#include "target/connection.h"

#include <gmock/gmock.h>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/scope.h"

namespace bellwether::target {
namespace {

using runtime::Io;
using runtime::Stream;
using runtime::task;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Duration kTooLong = Duration::minutes(1);  // a broken server fails the test instead of hanging it

struct Exchange {
  std::string answer;
  Io end = Io::done(0);  // how the answer ended: kEnd, or kError
  uint64_t requests = 0;
};

// Sends the pieces one by one (the next once the server had its chance to read), then reads until the server ends the
// connection.
task<Exchange> talk(runtime::Runtime* runtime, runtime::Endpoint to, std::vector<std::string> pieces) {
  Exchange exchange;
  auto connected = co_await runtime->connect(to, {}, nullptr);
  check(connected.has_value(), "the listener of this test answers");
  Stream& stream = **connected;
  runtime::Timer timer([](void* s) { static_cast<Stream*>(s)->interrupt(Errc::kTimeout); }, &stream);
  runtime->timers().arm(timer, runtime->now() + kTooLong);
  for (const std::string& piece : pieces) {
    std::size_t sent = 0;
    while (sent < piece.size()) {
      const Io io = stream.try_write(as_bytes(piece).subspan(sent));
      if (io.kind == Io::Kind::kDone) {
        sent += io.count;
      } else if (io.kind != Io::Kind::kWouldBlock || co_await stream.writable() != Errc::kOk) {
        break;
      }
    }
    co_await runtime->sleep(Duration::millis(1));
  }
  char block[16 * 1024];
  while (true) {
    const Errc interrupted = co_await stream.readable();
    if (interrupted != Errc::kOk) break;
    exchange.end = stream.try_read(std::as_writable_bytes(std::span(block)));
    if (exchange.end.kind == Io::Kind::kWouldBlock) continue;
    if (exchange.end.kind != Io::Kind::kDone) break;
    exchange.answer.append(block, exchange.end.count);
  }
  co_return exchange;
}

task<void> accept_one(runtime::Listener* listener, Service* service, runtime::Cancellation* cancel) {
  auto accepted = co_await listener->accept(cancel);
  if (accepted) co_await serve(service, std::move(*accepted), cancel);
}

task<Exchange> serve_and_talk(runtime::Runtime* runtime, FaultOptions faults, std::vector<std::string> pieces) {
  auto listener = runtime->listen({runtime::IpAddress::loopback(), 0}, {});
  check(listener.has_value(), "a port of loopback is free");
  Service service(*runtime, faults, 1);
  runtime::Scope scope;
  scope.spawn(accept_one(listener->get(), &service, scope.cancellation()));
  Exchange exchange = co_await talk(runtime, (*listener)->local(), std::move(pieces));
  scope.cancel();
  co_await scope.join();
  exchange.requests = service.requests;
  co_return exchange;
}

Exchange ask(std::vector<std::string> pieces, FaultOptions faults = {}) {
  auto runtime = runtime::EpollRuntime::create({.seed = 1});
  return (*runtime)->run(serve_and_talk(runtime->get(), faults, std::move(pieces)));
}

std::string get(std::string_view path, std::string_view fields = "Connection: close\r\n") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: t\r\n" + std::string(fields) + "\r\n";
}

TEST(Connection, answers_and_closes_when_asked_to) {
  const Exchange got = ask({get("/json")});
  EXPECT_THAT(got.answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got.answer, HasSubstr("\r\nConnection: close\r\n\r\n{"));
  EXPECT_EQ(got.end.kind, Io::Kind::kEnd);
}

TEST(Connection, answers_a_request_that_comes_byte_by_byte) {
  std::vector<std::string> bytes;
  for (const char c : get("/items/2")) bytes.emplace_back(1, c);
  EXPECT_THAT(ask(bytes).answer, EndsWith("{\"id\":2,\"name\":\"bell\",\"price\":12.50}\n"));
}

TEST(Connection, answers_requests_that_come_together_in_their_order) {
  const Exchange got = ask({get("/bytes/1", "") + get("/json", "") + get("/json", "") + get("/bytes/2")});
  EXPECT_EQ(got.requests, 4u);
  const std::size_t first = got.answer.find("\r\n\r\nxHTTP/1.1 200 OK\r\nContent-Type: application/json");
  EXPECT_NE(first, std::string::npos);
  EXPECT_THAT(got.answer, EndsWith("\r\n\r\nxx"));
}

TEST(Connection, takes_bodies_of_both_codings) {
  const std::string end = "Connection: close\r\n\r\n";
  EXPECT_THAT(ask({"POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n" + end + "he", "llo"}).answer,
              EndsWith("\r\n\r\nhello"));
  EXPECT_THAT(ask({"PUT /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n" + end + "3\r\nhel\r", "\n2\r\nlo",
                   "\r\n0\r\n\r\n"})
                  .answer,
              EndsWith("\r\n\r\nhello"));
}

TEST(Connection, reads_over_a_body_that_nobody_wants) {
  const std::string body(100'000, 'b');
  const Exchange got = ask({"POST /pay HTTP/1.1\r\nHost: t\r\nContent-Length: 100000\r\n\r\n" + body, get("/items/1")});
  EXPECT_EQ(got.requests, 2u);
  EXPECT_THAT(got.answer, HasSubstr("{\"paid\":true}"));
  EXPECT_THAT(got.answer, EndsWith("\"price\":49.90}\n"));
}

TEST(Connection, says_go_on_to_a_client_that_waits_for_it) {
  const Exchange got =
      ask({"POST /echo HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
           "Connection: close\r\n\r\n",
           "ok"});
  EXPECT_THAT(got.answer, StartsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got.answer, EndsWith("ok"));
}

TEST(Connection, refuses_what_is_too_large_or_no_http) {
  EXPECT_THAT(ask({"GET / HTTP/1.1\r\n\r\n"}).answer, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask({"nonsense\r\n\r\n"}).answer, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask({get("/", "X: " + std::string(http1::RequestHead::kMaxBytes, 'x') + "\r\n")}).answer,
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask({"POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 1048577\r\n\r\n"}).answer,
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask({"POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}).answer,
              StartsWith("HTTP/1.1 400 "));
}

TEST(Connection, speaks_to_old_clients_in_their_way) {
  const Exchange once = ask({"GET /stream/2 HTTP/1.0\r\n\r\n"});
  EXPECT_THAT(once.answer, EndsWith("\r\n\r\nline 1\nline 2\n"));
  EXPECT_THAT(once.answer, ::testing::Not(HasSubstr("chunked")));
  const Exchange kept = ask({"GET /json HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "GET /json HTTP/1.0\r\n\r\n"});
  EXPECT_THAT(kept.answer, HasSubstr("Connection: keep-alive\r\n"));
  EXPECT_EQ(kept.requests, 2u);
}

TEST(Connection, head_gets_the_head_of_what_get_would_get) {
  const std::string rest = " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";
  for (const char* path : {"/json", "/bytes/100", "/stream/3", "/headers"}) {
    EXPECT_THAT(ask({"HEAD ", path, rest}).answer, EndsWith("\r\n\r\n")) << path;
  }
}

TEST(Connection, long_answers_arrive_whole) {
  const Exchange got = ask({get("/bytes/3000000")});
  EXPECT_EQ(got.answer.size() - got.answer.find("\r\n\r\n") - 4, 3'000'000u);
  const Exchange lines = ask({get("/stream/2000")});
  EXPECT_THAT(lines.answer, EndsWith("line 2000\n\r\n0\r\n\r\n"));
}

TEST(Connection, faults_end_connections_as_their_names_say) {
  EXPECT_EQ(ask({get("/fault/reset")}).end.kind, Io::Kind::kError);
  const Exchange closed = ask({get("/fault/close")});
  EXPECT_EQ(closed.end.kind, Io::Kind::kEnd);
  EXPECT_EQ(closed.answer, "");
  const Exchange truncated = ask({get("/fault/truncate")});
  EXPECT_EQ(truncated.end.kind, Io::Kind::kEnd);
  EXPECT_THAT(truncated.answer, EndsWith("the rest is missing"));
}

TEST(Connection, every_request_fails_when_the_error_rate_is_one) {
  FaultOptions faults;
  faults.error_rate = 1;
  const Exchange got = ask({get("/json", "") + get("/json")}, faults);
  EXPECT_EQ(got.requests, 2u);
  EXPECT_THAT(got.answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(got.answer, ::testing::Not(HasSubstr("200 OK")));
}

}  // namespace
}  // namespace bellwether::target
