#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include "core/http1/client.h"
#include "core/http1/client_testing.h"

namespace bellwether::http1 {
namespace {

using Then = Answer::Then;

class TlsClientTest : public ClientTest {
 protected:
  void serve(const std::vector<std::string>& names, int version = TLS1_3_VERSION) {
    auto context = runtime::TlsContext::self_signed_server(names, {"http/1.1"});
    SSL_CTX_set_num_tickets((*context)->native(), 2);
    SSL_CTX_set_max_proto_version((*context)->native(), version);
    ca_ = std::make_shared<const std::string>((*context)->certificate_pem());
    secure_ = std::make_unique<TestServer>(*runtime_, *context);
  }
  Response get_securely(const TlsSettings& settings, const std::string& host = "127.0.0.1") {
    Request what = request("GET", "/");
    what.origin = *client_->origins().find(true, host, secure_->port(), settings);
    return call(what);
  }
  // How many handshakes with this server have resumed a session.
  long resumed(const TlsSettings& settings) {
    const Origin* to = *client_->origins().find(true, "127.0.0.1", secure_->port(), settings);
    return SSL_CTX_sess_hits(to->tls_context->native());
  }
  std::shared_ptr<const std::string> ca_;
  std::unique_ptr<TestServer> secure_;
};

TEST_F(TlsClientTest, a_new_connection_resumes_the_session_of_its_user_where_that_is_wanted) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    serve({"127.0.0.1"}, version);
    for (const bool resume : {false, true}) {
      const TlsSettings settings{.verify = true, .ca_pem = ca_, .resume = resume};
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(get_securely(settings).error, ErrorKind::kNone);
        session_->close_idle();
      }
      EXPECT_EQ(resumed(settings), resume ? 2 : 0) << version;
      session_ = std::make_unique<Session>();  // another user
      EXPECT_EQ(get_securely(settings).error, ErrorKind::kNone);
      EXPECT_EQ(resumed(settings), resume ? 2 : 0) << version;
      session_->close_idle();
    }
    EXPECT_EQ(secure_->connections, 8);
  }
}

TEST_F(TlsClientTest, only_the_sessions_of_the_servers_used_last_are_kept) {
  const auto first = session_->tls_session(*origin(1));
  for (uint16_t port = 2; port <= 8; ++port) session_->tls_session(*origin(port));
  EXPECT_EQ(session_->tls_session(*origin(1)), first);
  session_->tls_session(*origin(9));
  EXPECT_NE(session_->tls_session(*origin(1)), first);
}

TEST_F(TlsClientTest, a_server_name_stands_for_the_host) {
  serve({"shop.test"});
  EXPECT_EQ(get_securely({.verify = true, .ca_pem = ca_, .server_name = "shop.test"}).body, "ok");
  EXPECT_EQ(get_securely({.verify = true, .ca_pem = ca_, .server_name = "other.test"}).error, ErrorKind::kTls);
}

TEST_F(TlsClientTest, a_redirect_uses_the_settings_of_its_request) {
  serve({"shop.test"});
  const TlsSettings settings{.verify = true, .ca_pem = ca_, .server_name = "shop.test"};
  Request what = request("GET", "/");
  what.tls = &settings;
  const auto moved = [](const std::string& host, uint16_t port) {
    return "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: https://" + host + ":" + std::to_string(port) +
           "/\r\n\r\n";
  };
  server_->answer(moved("127.0.0.1", secure_->port()));
  EXPECT_EQ(call(what).body, "ok") << "from http to https";
  server_->answer(moved("both.test", secure_->port()));
  EXPECT_EQ(call(what).error, ErrorKind::kTls) << "another server has another name";
}

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
  EXPECT_EQ(get_securely({true}, "both.test").error, ErrorKind::kTls);
  EXPECT_EQ(get_securely({true, ca_}).error, ErrorKind::kTls);
  EXPECT_TRUE(secure_->requests.empty());
  EXPECT_EQ(get_securely({false}, "both.test").error, ErrorKind::kNone);
}

TEST_F(TlsClientTest, a_silent_server_is_a_tls_timeout) {
  serve({"both.test"});
  const auto listening = runtime_->listen({runtime::IpAddress::loopback(), 0}, {});
  Request what = request("GET", "/");
  what.origin = *client_->origins().find(true, "127.0.0.1", (*listening)->local().port, {false});
  limits_.tls_timeout = Duration::millis(10);
  EXPECT_EQ(call(what).error, ErrorKind::kTlsTimeout);
  limits_.timeout = limits_.tls_timeout;
  EXPECT_EQ(call(what).error, ErrorKind::kTimeout);
}

TEST_F(TlsClientTest, a_cut_connection_is_not_taken_for_the_end_of_the_body) {
  serve({"127.0.0.1"});
  secure_->answer("HTTP/1.1 200 OK\r\n\r\nuntil the end", Then::kFinish);
  EXPECT_EQ(get_securely({true, ca_}).body, "until the end");
}

TEST_F(TlsClientTest, certificates_that_cannot_be_read_are_told_before_any_request) {
  const auto garbage = std::make_shared<const std::string>("-----BEGIN CERTIFICATE-----\n?");
  const auto refused = client_->origins().find(true, "h", 443, {true, garbage, "shop-ca.pem"});
  EXPECT_EQ(refused.error().code, Errc::kTls);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("in 'shop-ca.pem'"));
}

}  // namespace
}  // namespace bellwether::http1
