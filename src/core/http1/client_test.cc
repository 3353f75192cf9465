#include "core/http1/client.h"

#include <gmock/gmock.h>

#include "core/http1/client_testing.h"

namespace bellwether::http1 {
namespace {

using Then = Answer::Then;

TEST_F(ClientTest, an_exchange_gives_the_response_and_its_phases) {
  const Request what = request("GET", "/path?q=1", "", "X-Mine: 1\r\n");
  const Response response = call(what);
  EXPECT_EQ(response.error, ErrorKind::kNone);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "ok");
  EXPECT_EQ(response.head().header("content-length"), "2");
  EXPECT_EQ(response.attempts, 1);
  EXPECT_EQ(response.connections, 1);
  EXPECT_EQ(response.bytes_sent, what.whole.size());
  EXPECT_EQ(response.bytes_received, kOk.size());
  EXPECT_EQ(server_->requests[0].head, what.whole);

  EXPECT_LE(response.started, response.sent);
  EXPECT_LE(response.sent, response.first_byte);
  EXPECT_LE(response.first_byte, response.done);
  EXPECT_GT(response.connect, Duration::zero());
  EXPECT_EQ(response.dns, Duration::zero());
  EXPECT_EQ(response.tls, Duration::zero());
  EXPECT_LE(response.connect, response.sent - response.started);
}

TEST_F(ClientTest, a_connection_is_used_again) {
  get("/1");
  const Response second = get("/2");
  EXPECT_EQ(server_->connections, 1);
  EXPECT_EQ(second.connections, 0);
  EXPECT_EQ(second.connect, Duration::zero());
  EXPECT_EQ(server_->requests[1].target, "/2");
}

TEST_F(ClientTest, sessions_share_no_connections) {
  get();
  Session other;
  Response response;
  const Request what = request("GET", "/");
  runtime_->run(client_->exchange(other, what, response, nullptr));
  EXPECT_EQ(server_->connections, 2);
}

TEST_F(ClientTest, a_connection_that_the_server_wants_closed_is_not_used_again) {
  server_->answer("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", Then::kFinish);
  get();
  EXPECT_EQ(get().error, ErrorKind::kNone);
  EXPECT_EQ(server_->connections, 2);
}

TEST_F(ClientTest, a_response_until_the_close_is_whole) {
  server_->answer("HTTP/1.1 200 OK\r\n\r\nuntil the end", Then::kFinish);
  EXPECT_EQ(get().body, "until the end");
}

TEST_F(ClientTest, a_kept_connection_that_was_closed_meanwhile_is_replaced_without_an_attempt) {
  server_->answer(kOk, Then::kFinish);
  get();
  wait_until_nothing_idle();
  const Response response = get();
  EXPECT_EQ(response.error, ErrorKind::kNone);
  EXPECT_EQ(response.attempts, 1);
  EXPECT_EQ(response.connections, 1);
}

TEST_F(ClientTest, a_request_that_meets_the_close_of_a_kept_connection_is_sent_again) {
  for (const Then then : {Then::kFinish, Then::kReset}) {
    get();
    server_->answer("", then);
    const Response response = get("/again");
    EXPECT_EQ(response.error, ErrorKind::kNone);
    EXPECT_EQ(response.body, "ok");
    EXPECT_EQ(response.attempts, 2);
    EXPECT_EQ(response.repeats, 1);
    EXPECT_EQ(response.connections, 1);
  }
}

TEST_F(ClientTest, a_post_and_what_is_to_be_sent_once_are_never_sent_twice) {
  Request once = request("GET", "/");
  once.once = true;
  for (const Request& what : {request("POST", "/", "body"), once}) {
    get();
    server_->answer("", Then::kFinish);
    const Response response = call(what);
    EXPECT_EQ(response.error, ErrorKind::kClosed);
    EXPECT_EQ(response.status, 0);
    EXPECT_EQ(response.attempts, 1);
  }
}

TEST_F(ClientTest, a_new_connection_that_fails_is_not_tried_again) {
  EXPECT_EQ(error_after("", Then::kFinish), ErrorKind::kClosed);
  EXPECT_EQ(error_after("", Then::kReset), ErrorKind::kReset);
  EXPECT_EQ(server_->requests.size(), 2U);
}

TEST_F(ClientTest, a_response_that_breaks_off_is_truncated) {
  EXPECT_EQ(error_after("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", Then::kFinish), ErrorKind::kTruncated);
  EXPECT_EQ(error_after("HTTP/1.1 200 OK\r\nContent-Le", Then::kFinish), ErrorKind::kTruncated);
}

TEST_F(ClientTest, garbage_is_a_protocol_error_with_a_reason) {
  server_->answer("SSH-2.0-OpenSSH_9.2\r\n", Then::kFinish);
  const Response response = get();
  EXPECT_EQ(response.error, ErrorKind::kProtocol);
  EXPECT_STREQ(response.detail, "not an HTTP/1 response");
  EXPECT_EQ(response.status, 0);
  EXPECT_EQ(get().error, ErrorKind::kNone);
  EXPECT_EQ(server_->connections, 2);
}

TEST_F(ClientTest, a_failed_body_keeps_the_status_but_not_the_connection) {
  limits_.body_bytes_max = 1;
  const Response response = get();
  EXPECT_EQ(response.error, ErrorKind::kTooLarge);
  EXPECT_EQ(response.status, 200);
  limits_.body_bytes_max = 10;
  EXPECT_EQ(get().error, ErrorKind::kNone);
  EXPECT_EQ(server_->connections, 2);
}

TEST_F(ClientTest, large_bodies_go_both_ways) {
  const std::string up = runtime::pattern(8 << 20, 1);
  const std::string down = runtime::pattern(3 << 20, 2);
  server_->answer("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(down.size()) + "\r\n\r\n" + down);
  const Request what = request("POST", "/", up);
  const Response response = call(what);
  ASSERT_EQ(response.error, ErrorKind::kNone);
  EXPECT_TRUE(response.body == down);
  EXPECT_TRUE(server_->requests[0].body == up);
  EXPECT_EQ(response.bytes_sent, what.whole.size());
  EXPECT_GT(response.sending, Duration::zero());
}

TEST_F(ClientTest, a_large_request_with_cookies_is_sent_whole_beside_others) {
  session_->cookies.store("id=7", "127.0.0.1", "/", runtime_->wall_now());
  const std::string up = runtime::pattern(8 << 20);
  const Request what = request("POST", "/large", up);
  const Request small = request("GET", "/small");
  Response first;
  Response second;
  auto large = client_->exchange(*session_, what, first, nullptr);
  runtime_->run(client_->exchange(*session_, small, second, nullptr));
  runtime_->run(std::move(large));
  EXPECT_EQ(first.error, ErrorKind::kNone);
  EXPECT_EQ(second.error, ErrorKind::kNone);
  ASSERT_EQ(server_->requests.size(), 2U);
  const auto& received = server_->requests[server_->requests[0].target == "/large" ? 0 : 1];
  EXPECT_TRUE(received.body == up);
  EXPECT_NE(received.head.find("\r\nCookie: id=7\r\n\r\n"), std::string::npos);
}

TEST_F(ClientTest, the_answer_to_head_has_no_body) {
  server_->answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
  const Response response = call(request("HEAD", "/"));
  EXPECT_EQ(response.error, ErrorKind::kNone);
  EXPECT_EQ(get().body, "ok");
  EXPECT_EQ(server_->connections, 1);
}

TEST_F(ClientTest, a_body_nobody_wants_is_only_counted) {
  Request what = request("GET", "/");
  what.want_body = false;
  limits_.body_bytes_max = 1;
  const Response response = call(what);
  EXPECT_EQ(response.error, ErrorKind::kNone);
  EXPECT_EQ(response.body, "");
  EXPECT_EQ(response.bytes_received, kOk.size());
}

TEST_F(ClientTest, origins_are_made_once) {
  OriginTable table;
  const Origin* made = *table.find(false, "Host", 80, {});
  EXPECT_EQ(*table.find(false, "hOST", 80, {false}), made);  // without TLS, its settings are nothing
  EXPECT_NE(*table.find(false, "Host", 81, {}), made);
  EXPECT_NE(*table.find(true, "Host", 80, {false}), made);
  EXPECT_NE(*table.find(true, "Host", 80, {false}), *table.find(true, "Host", 80, {true}));
  EXPECT_TRUE((*table.find(false, "::1", 80, {}))->literal);
}

}  // namespace
}  // namespace bellwether::http1
