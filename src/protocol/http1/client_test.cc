#include "protocol/http1/client.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include "protocol/http1/client_server_testing.h"
#include "runtime/dns_testing.h"
#include "runtime/socket_address.h"
#include "runtime/temporary_testing.h"

namespace bellwether::http1 {
namespace {

using metrics::ErrorKind;
using runtime::IpAddress;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Then = Answer::Then;

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

std::string redirect(int status, const std::string& location, const std::string& fields = "") {
  return "HTTP/1.1 " + std::to_string(status) + " Go\r\nLocation: " + location + "\r\n" + fields +
         "Content-Length: 0\r\n\r\n";
}

class ClientTest : public testing::Test {
 protected:
  ClientTest()
      : names_({{"both.test", {IpAddress::v4(0x7f000001), IpAddress::v4(0x7f000002), six()}},
                {"nothing-here.test", {IpAddress::v4(0x7f000002)}}}) {
    runtime::EpollRuntime::Options options;
    options.name_servers = {names_.endpoint()};
    runtime_ = runtime::test_runtime(options);
    client_ = std::make_unique<Client>(*runtime_);
    session_ = std::make_unique<Session>();
    server_ = std::make_unique<TestServer>(*runtime_);
  }
  static IpAddress six() { return *IpAddress::parse("::1"); }

  Origin* origin(uint16_t port, const std::string& host = "127.0.0.1") {
    return *client_->origins().find(false, host, port, {});
  }
  // Its bytes live as long as the test.
  Request request(const std::string& method, const std::string& target, const std::string& body = "",
                  const std::string& fields = "") {
    std::string length = body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n";
    const std::string& head =
        kept_.emplace_back(method + " " + target + " HTTP/1.1\r\nHost: test\r\n" + fields + length);
    Request made;
    made.origin = origin(server_->port());
    made.method = kept_.emplace_back(method);
    made.target = kept_.emplace_back(target);
    made.head = head;
    made.body = kept_.emplace_back(body);
    made.whole = kept_.emplace_back(head + "\r\n" + body);
    made.limits = &limits_;
    made.want_body = true;
    return made;
  }
  Response call(const Request& what, runtime::Cancellation* cancel = nullptr) {
    Response response;
    runtime_->run(client_->exchange(*session_, what, response, cancel));
    return response;
  }
  Response get(const std::string& target = "/") { return call(request("GET", target)); }
  ErrorKind error_after(const std::string& answer, Then then = Then::kKeep) {
    server_->answer(answer, then);
    return get().error;
  }
  // Waits until the client's loop has heard that the server closed its kept connection.
  void wait_until_nothing_idle() {
    const Origin& here = *origin(server_->port());
    const auto wait = [](runtime::Runtime& runtime, Session& session, const Origin& to) -> runtime::task<int> {
      while (auto idle = session.take_idle(to)) {
        session.put_idle(std::move(idle));
        co_await runtime.sleep(Duration::micros(100));
      }
      co_return 0;
    };
    runtime_->run(wait(*runtime_, *session_, here));
  }

  runtime::TestNameServer names_;
  std::unique_ptr<runtime::EpollRuntime> runtime_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<TestServer> server_;
  CallLimits limits_;
  std::deque<std::string> kept_;
};

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
    EXPECT_EQ(response.connections, 1);
  }
}

TEST_F(ClientTest, a_post_is_never_sent_twice) {
  get();
  server_->answer("", Then::kFinish);
  const Response response = call(request("POST", "/", "body"));
  EXPECT_EQ(response.error, ErrorKind::kClosed);
  EXPECT_EQ(response.status, 0);
  EXPECT_EQ(response.attempts, 1);
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

TEST_F(ClientTest, nobody_listening_is_refused) {
  Request what = request("GET", "/");
  what.origin = origin(server_->port(), "127.0.0.2");
  const Response response = call(what);
  EXPECT_EQ(response.error, ErrorKind::kConnectRefused);
  EXPECT_EQ(response.attempts, 0);
  EXPECT_EQ(response.connections, 0);
  EXPECT_LE(response.started, response.done);
}

// A listening socket whose queue is full: the kernel leaves further attempts without an answer.
class FullQueue {
 public:
  FullQueue() : listening_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const runtime::SocketAddress any({IpAddress::loopback(), 0}, true);
    check(::bind(listening_, any.get(), any.size()) == 0 && ::listen(listening_, 0) == 0);
    const runtime::SocketAddress here(runtime::local_endpoint(listening_), true);
    for (int& fd : waiting_) {
      fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      ::connect(fd, here.get(), here.size());
    }
  }
  ~FullQueue() {
    ::close(listening_);
    for (const int fd : waiting_) ::close(fd);
  }
  uint16_t port() const { return runtime::local_endpoint(listening_).port; }

 private:
  int listening_;
  std::array<int, 8> waiting_;
};

TEST_F(ClientTest, a_server_that_does_not_accept_is_a_connect_timeout) {
  const FullQueue full;
  Request what = request("GET", "/");
  what.origin = origin(full.port());
  limits_.connect_timeout = Duration::millis(20);
  EXPECT_EQ(call(what).error, ErrorKind::kConnectTimeout);
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

TEST_F(ClientTest, after_the_first_byte_only_the_whole_time_counts) {
  limits_.first_byte_timeout = Duration::millis(150);
  server_->answer(kOk, Then::kKeep, Duration::millis(200));
  EXPECT_EQ(get().error, ErrorKind::kNone);
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

TEST_F(ClientTest, large_bodies_go_both_ways) {
  const std::string up = runtime::pattern(8 << 20, 1);
  const std::string down = runtime::pattern(3 << 20, 2);
  server_->answer("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(down.size()) + "\r\n\r\n" + down);
  const Request what = request("POST", "/", up);
  const Response response = call(what);
  EXPECT_EQ(response.error, ErrorKind::kNone);
  EXPECT_TRUE(response.body == down);
  EXPECT_TRUE(server_->requests[0].body == up);
  EXPECT_EQ(response.bytes_sent, what.whole.size());
  EXPECT_GT(response.sending, Duration::zero());
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

TEST_F(ClientTest, redirects_are_followed) {
  server_->answer(redirect(302, "/two"));
  server_->answer(redirect(307, "three?x"));
  const Response response = get("/one");
  EXPECT_EQ(response.error, ErrorKind::kNone);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.redirects, 2);
  EXPECT_EQ(response.attempts, 3);
  EXPECT_EQ(response.connections, 1);
  EXPECT_EQ(server_->requests[1].target, "/two");
  EXPECT_EQ(server_->requests[2].target, "/three?x");
}

TEST_F(ClientTest, see_other_turns_a_post_into_a_get) {
  server_->answer(redirect(303, "/result"));
  EXPECT_EQ(call(request("POST", "/form", "body")).status, 200);
  EXPECT_EQ(server_->requests[1].method, "GET");
  EXPECT_EQ(server_->requests[1].body, "");
}

TEST_F(ClientTest, a_temporary_redirect_repeats_the_post) {
  server_->answer(redirect(308, "/moved"));
  EXPECT_EQ(call(request("POST", "/form", "body")).status, 200);
  EXPECT_EQ(server_->requests[1].method, "POST");
  EXPECT_EQ(server_->requests[1].body, "body");
}

TEST_F(ClientTest, too_many_redirects_are_an_error_and_none_allowed_is_none) {
  limits_.redirects_max = 2;
  for (int i = 0; i < 3; ++i) server_->answer(redirect(302, "/"));
  const Response many = get();
  EXPECT_EQ(many.error, ErrorKind::kRedirect);
  EXPECT_EQ(many.redirects, 2);
  EXPECT_EQ(many.status, 302);

  limits_.redirects_max = 0;
  server_->answer(redirect(302, "/elsewhere"));
  const Response none = get();
  EXPECT_EQ(none.error, ErrorKind::kNone);
  EXPECT_EQ(none.status, 302);
}

TEST_F(ClientTest, a_redirect_that_leads_nowhere_is_told) {
  EXPECT_EQ(error_after(redirect(302, "ftp://h/")), ErrorKind::kRedirect);
  EXPECT_EQ(error_after("HTTP/1.1 302 Go\r\nContent-Length: 0\r\n\r\n"), ErrorKind::kNone);
  EXPECT_EQ(error_after(redirect(302, "http://127.0.0.2:" + std::to_string(server_->port()) + "/")),
            ErrorKind::kConnectRefused);
}

TEST_F(ClientTest, credentials_do_not_follow_to_another_origin) {
  TestServer other(*runtime_);
  server_->answer(redirect(302, "/here"));
  server_->answer(redirect(302, "http://127.0.0.1:" + std::to_string(other.port()) + "/there"));
  EXPECT_EQ(call(request("GET", "/", "", "Authorization: Basic eA==\r\nX-Mine: 1\r\n")).status, 200);
  EXPECT_THAT(server_->requests[1].head, HasSubstr("Authorization: Basic eA==\r\n"));
  ASSERT_EQ(other.requests.size(), 1U);
  EXPECT_THAT(other.requests[0].head, Not(HasSubstr("Authorization")));
  EXPECT_THAT(other.requests[0].head, HasSubstr("X-Mine: 1\r\n"));
  EXPECT_THAT(other.requests[0].head, HasSubstr("Host: 127.0.0.1:" + std::to_string(other.port()) + "\r\n"));
}

TEST_F(ClientTest, the_whole_time_covers_all_redirects) {
  limits_.timeout = Duration::millis(60);
  server_->answer(redirect(302, "/two"));
  EXPECT_EQ(error_after("", Then::kStall), ErrorKind::kTimeout);
}

TEST_F(ClientTest, cookies_are_kept_for_each_session) {
  server_->answer("HTTP/1.1 200 OK\r\nSet-Cookie: id=7; Path=/\r\nContent-Length: 2\r\n\r\nok");
  get("/login");
  get("/page");
  EXPECT_THAT(server_->requests[0].head, Not(HasSubstr("Cookie")));
  EXPECT_THAT(server_->requests[1].head, HasSubstr("\r\nCookie: id=7\r\n\r\n"));
  session_ = std::make_unique<Session>();
  get("/page");
  EXPECT_THAT(server_->requests[2].head, Not(HasSubstr("Cookie")));
}

TEST_F(ClientTest, cookies_of_a_redirect_go_with_the_next_request) {
  server_->answer(redirect(302, "/home", "Set-Cookie: id=7\r\n"));
  get("/login");
  EXPECT_THAT(server_->requests[1].head, HasSubstr("Cookie: id=7\r\n"));
  session_->cookies.clear();
  get("/login");
  EXPECT_THAT(server_->requests[2].head, Not(HasSubstr("Cookie")));
}

class TlsClientTest : public ClientTest {
 protected:
  void serve(const std::vector<std::string>& names) {
    auto context = runtime::TlsContext::self_signed_server(names, {"http/1.1"});
    ca_ = folder_.file("ca.pem", (*context)->certificate_pem());
    secure_ = std::make_unique<TestServer>(*runtime_, *context);
  }
  Response get_securely(const TlsSettings& settings, const std::string& host = "127.0.0.1") {
    Request what = request("GET", "/");
    what.origin = *client_->origins().find(true, host, secure_->port(), settings);
    return call(what);
  }
  runtime::TemporaryFolder folder_;
  std::string ca_;
  std::unique_ptr<TestServer> secure_;
};

TEST_F(TlsClientTest, a_trusted_server_is_talked_to_and_its_handshake_timed) {
  serve({"both.test", "127.0.0.1"});
  const Response first = get_securely({true, ca_});
  EXPECT_EQ(first.error, ErrorKind::kNone);
  EXPECT_EQ(first.body, "ok");
  EXPECT_GT(first.tls, Duration::zero());
  EXPECT_LE(first.connect + first.tls, first.sent - first.started);
  const Response second = get_securely({true, ca_});
  EXPECT_EQ(second.tls, Duration::zero());
  EXPECT_EQ(secure_->connections, 1);
  EXPECT_EQ(get_securely({true, ca_}, "both.test").error, ErrorKind::kNone);
}

TEST_F(TlsClientTest, a_server_that_cannot_be_trusted_is_not_sent_anything) {
  serve({"other.test"});
  EXPECT_EQ(get_securely({true, ca_}, "both.test").error, ErrorKind::kTls);
  EXPECT_EQ(get_securely({true, ""}, "both.test").error, ErrorKind::kTls);
  EXPECT_EQ(get_securely({true, ca_}).error, ErrorKind::kTls);
  EXPECT_TRUE(secure_->requests.empty());
  EXPECT_EQ(get_securely({false, ""}, "both.test").error, ErrorKind::kNone);
}

TEST_F(TlsClientTest, a_silent_server_is_a_tls_timeout) {
  serve({"both.test"});
  const FullQueue full;
  const auto listening = runtime_->listen({IpAddress::loopback(), 0}, {});
  Request what = request("GET", "/");
  what.origin = *client_->origins().find(true, "127.0.0.1", (*listening)->local().port, {false, ""});
  limits_.tls_timeout = Duration::millis(10);
  EXPECT_EQ(call(what).error, ErrorKind::kTlsTimeout);
}

TEST_F(TlsClientTest, a_cut_connection_is_not_taken_for_the_end_of_the_body) {
  serve({"127.0.0.1"});
  secure_->answer("HTTP/1.1 200 OK\r\n\r\nuntil the end", Then::kFinish);
  EXPECT_EQ(get_securely({true, ca_}).body, "until the end");
}

TEST_F(TlsClientTest, a_ca_file_that_cannot_be_read_is_told_before_any_request) {
  EXPECT_EQ(client_->origins().find(true, "h", 443, {true, "/nowhere/ca.pem"}).error().code, Errc::kTls);
}

TEST_F(ClientTest, origins_are_made_once) {
  OriginTable table;
  const Origin* made = *table.find(false, "Host", 80, {});
  EXPECT_EQ(*table.find(false, "hOST", 80, {true, "ignored without TLS"}), made);
  EXPECT_NE(*table.find(false, "Host", 81, {}), made);
  EXPECT_NE(*table.find(true, "Host", 80, {false, ""}), made);
  EXPECT_NE(*table.find(true, "Host", 80, {false, ""}), *table.find(true, "Host", 80, {true, ""}));
  EXPECT_TRUE((*table.find(false, "::1", 80, {}))->literal);
}

}  // namespace
}  // namespace bellwether::http1
