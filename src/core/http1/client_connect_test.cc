#include <gmock/gmock.h>

#include "core/http1/client.h"
#include "core/http1/client_testing.h"
#include "core/runtime/full_queue_testing.h"

namespace bellwether::http1 {
namespace {

using Then = Answer::Then;

class ClientFirstByteTest : public ClientTest {
 protected:
  // An exchange that lasts longer than the first byte may take. Where this thread stands still before that byte, the
  // next one has more time.
  template <class Call>
  ErrorKind error_beyond(Call call) {
    ErrorKind error = ErrorKind::kFirstByteTimeout;
    for (Duration limit = Duration::millis(250); limit < Duration::seconds(20); limit = limit * 2) {
      limits_.first_byte_timeout = limit;
      error = call(limit + Duration::millis(100));
      if (error != ErrorKind::kFirstByteTimeout) break;
    }
    return error;
  }
};

TEST_F(ClientTest, nobody_listening_is_refused) {
  Request what = request("GET", "/");
  what.origin = origin(server_->port(), "127.0.0.2");
  const Response response = call(what);
  EXPECT_EQ(response.error, ErrorKind::kConnectRefused);
  EXPECT_EQ(response.attempts, 0);
  EXPECT_EQ(response.connections, 0);
  EXPECT_LE(response.started, response.done);
}

TEST_F(ClientTest, a_server_that_does_not_accept_is_a_connect_timeout) {
  const runtime::FullQueue full;
  Request what = request("GET", "/");
  what.origin = origin(full.endpoint().port);
  limits_.connect_timeout = Duration::millis(20);
  EXPECT_EQ(call(what).error, ErrorKind::kConnectTimeout);
}

TEST_F(ClientTest, a_connection_that_is_not_there_within_the_whole_is_a_timeout_of_the_whole) {
  const runtime::FullQueue full;
  Request what = request("GET", "/");
  what.origin = origin(full.endpoint().port);
  limits_.timeout = Duration::millis(20);
  EXPECT_EQ(call(what).error, ErrorKind::kTimeout);
  limits_.connect_timeout = limits_.timeout;
  EXPECT_EQ(call(what).error, ErrorKind::kTimeout);
}

TEST_F(ClientTest, a_server_that_does_not_answer_is_a_first_byte_timeout) {
  limits_.first_byte_timeout = Duration::millis(10);
  EXPECT_EQ(error_after("", Then::kStall), ErrorKind::kFirstByteTimeout);
}

TEST_F(ClientTest, a_response_that_never_ends_is_a_timeout_of_the_whole) {
  limits_.timeout = Duration::millis(50);
  EXPECT_EQ(error_after("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", Then::kStall), ErrorKind::kTimeout);
  EXPECT_EQ(error_after("", Then::kStall), ErrorKind::kTimeout);
}

TEST_F(ClientFirstByteTest, only_the_whole_time_counts_after_it) {
  const auto slow = [this](Duration pause) {
    server_->answer(kOk, Then::kKeep, pause);
    return get().error;
  };
  EXPECT_EQ(error_beyond(slow), ErrorKind::kNone);
}

TEST_F(ClientFirstByteTest, what_stalls_after_it_is_a_timeout_of_the_whole) {
  const auto stalled = [this](Duration whole) {
    limits_.timeout = whole;
    return error_after("HTTP/1.1 200 OK\r\n", Then::kStall);
  };
  EXPECT_EQ(error_beyond(stalled), ErrorKind::kTimeout);
}

TEST_F(ClientTest, an_exchange_can_be_cancelled) {
  runtime::Cancellation cancel;
  Response response;
  server_->answer("", Then::kStall);
  const Request what = request("GET", "/");
  auto running = client_->exchange(*session_, what, response, &cancel);
  const auto until_asked = [](runtime::Runtime& runtime, TestServer& server) -> runtime::task<int> {
    while (server.requests.empty()) co_await runtime.sleep(Duration::micros(100));
    co_return 0;
  };
  runtime_->run(until_asked(*runtime_, *server_));
  cancel.cancel();
  runtime_->run(std::move(running));
  EXPECT_EQ(response.error, ErrorKind::kInterrupted);
  EXPECT_EQ(call(what, &cancel).error, ErrorKind::kInterrupted);
}

TEST_F(ClientTest, names_are_resolved_and_timed) {
  Request what = request("GET", "/");
  what.origin = origin(server_->port(), "both.test");
  const Response response = call(what);
  EXPECT_EQ(response.error, ErrorKind::kNone);
  EXPECT_GT(response.dns, Duration::zero());
  EXPECT_LE(response.dns + response.connect, response.sent - response.started);
}

TEST_F(ClientTest, another_address_is_tried_when_one_refuses) {
  // Only 127.0.0.1 is listening: half of the connections begin elsewhere, none with the IPv6 address.
  Request what = request("GET", "/");
  what.origin = origin(server_->port(), "both.test");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(call(what).error, ErrorKind::kNone) << i;
    session_->close_idle();
  }
  what.origin = origin(server_->port(), "nothing-here.test");
  EXPECT_EQ(call(what).error, ErrorKind::kConnectRefused);
}

TEST_F(ClientTest, a_name_that_does_not_exist_is_a_dns_error) {
  Request what = request("GET", "/");
  what.origin = origin(80, "absent.test");
  EXPECT_EQ(call(what).error, ErrorKind::kDns);
}

TEST_F(ClientTest, name_servers_that_do_not_answer_are_waited_for_no_longer_than_the_whole) {
  Request what = request("GET", "/");
  what.origin = origin(80, "silent.test");
  limits_.timeout = Duration::millis(20);
  EXPECT_EQ(call(what).error, ErrorKind::kTimeout);
}

}  // namespace
}  // namespace bellwether::http1
