#include <gmock/gmock.h>

#include "core/http1/client.h"
#include "core/http1/client_testing.h"

namespace bellwether::http1 {
namespace {

using Then = Answer::Then;

class TlsClientTest : public ClientTest {
 protected:
  void serve(const std::vector<std::string>& names) {
    auto context = runtime::TlsContext::self_signed_server(names, {"http/1.1"});
    ca_ = std::make_shared<const std::string>((*context)->certificate_pem());
    secure_ = std::make_unique<TestServer>(*runtime_, *context);
  }
  Response get_securely(const TlsSettings& settings, const std::string& host = "127.0.0.1") {
    Request what = request("GET", "/");
    what.origin = *client_->origins().find(true, host, secure_->port(), settings);
    return call(what);
  }
  std::shared_ptr<const std::string> ca_;
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
