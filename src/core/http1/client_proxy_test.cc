// The way through a proxy, which is a server here that opens no tunnel but says what a test wants it to.
#include "core/http1/client.h"
#include "core/http1/client_testing.h"

namespace bellwether::http1 {
namespace {

using Then = Answer::Then;

class ProxyTest : public ClientTest {
 protected:
  // To a server that speaks TLS, through the test's server as proxy.
  Request secure() {
    Request what = request("GET", "/");
    proxies_.https = Proxy{"127.0.0.1", server_->port(), "Basic dTpw"};
    what.origin = *client_->origins().find(true, "shop.test", 443, {false}, &*proxies_.https);
    what.proxies = &proxies_;
    return what;
  }
  Response answered(const std::string& bytes, Then then = Then::kKeep) {
    server_->answer(bytes, then);
    return call(secure());
  }
  Proxies proxies_;
};

TEST_F(ProxyTest, a_refusal_is_an_error_with_the_status_of_the_proxy) {
  const Response refused = answered("HTTP/1.1 407 Who are you\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_EQ(refused.error, ErrorKind::kProxy);
  EXPECT_EQ(refused.proxy_status, 407);
  EXPECT_EQ(refused.status, 0);
  ASSERT_EQ(server_->requests.size(), 1u);
  EXPECT_EQ(server_->requests[0].head,
            "CONNECT shop.test:443 HTTP/1.1\r\nHost: shop.test:443\r\nProxy-Authorization: Basic dTpw\r\n\r\n");
}

TEST_F(ProxyTest, what_is_no_tunnel_is_an_error) {
  EXPECT_EQ(answered("SSH-2.0\r\n\r\n").error, ErrorKind::kProxy);
  EXPECT_EQ(answered("HTTP/1.1 200 OK\r\n", Then::kFinish).error, ErrorKind::kProxy);
  EXPECT_EQ(answered("HTTP/1.1 200 OK\r\n\r\nwords of nobody").error, ErrorKind::kProxy);
  EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n").error, ErrorKind::kProxy);
  std::string interim;
  for (int i = 0; i < 20; ++i) interim += "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(answered(interim).error, ErrorKind::kProxy);
}

TEST_F(ProxyTest, an_opened_tunnel_is_used_for_the_handshake) {
  EXPECT_EQ(answered("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", Then::kFinish).error, ErrorKind::kTls)
      << "behind this one is nobody who speaks TLS";
}

TEST_F(ProxyTest, a_silent_proxy_is_a_timeout_of_connecting) {
  limits_.connect_timeout = Duration::millis(20);
  const Response silent = answered("", Then::kStall);
  EXPECT_EQ(silent.error, ErrorKind::kConnectTimeout);
  EXPECT_EQ(silent.proxy_status, 0);
  limits_.timeout = Duration::millis(10);
  EXPECT_EQ(answered("", Then::kStall).error, ErrorKind::kTimeout);
}

TEST_F(ProxyTest, connections_are_kept_for_each_way) {
  const Proxy proxy{"127.0.0.1", server_->port(), {}};
  const Proxy other{"127.0.0.1", server_->port(), "Basic dTpw"};
  OriginTable& origins = client_->origins();
  Origin* const direct = *origins.find(false, "127.0.0.1", server_->port(), {});
  Origin* const through = *origins.find(false, "127.0.0.1", server_->port(), {}, &proxy);
  EXPECT_NE(direct, through);
  EXPECT_NE(*origins.find(false, "127.0.0.1", server_->port(), {}, &other), through);
  EXPECT_EQ(*origins.find(false, "127.0.0.1", server_->port(), {}, &proxy), through);
  for (Origin* const origin : {direct, through, direct, through}) {
    Request what = request("GET", "/");
    what.origin = origin;
    EXPECT_EQ(call(what).error, ErrorKind::kNone);
  }
  EXPECT_EQ(server_->connections, 2);
}

TEST_F(ProxyTest, a_redirect_goes_through_it_too_and_tells_it_alone_who_asks) {
  proxies_.http = Proxy{"127.0.0.1", server_->port(), "Basic dTpw"};
  Request what = request("GET", "/", "", "Proxy-Authorization: Basic dTpw\r\n");
  what.origin = *client_->origins().find(false, "one.test", 80, {}, &*proxies_.http);
  what.proxies = &proxies_;
  server_->answer("HTTP/1.1 302 Found\r\nLocation: http://two.test/next\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(call(what).status, 200);
  ASSERT_EQ(server_->requests.size(), 2u);
  EXPECT_EQ(server_->requests[1].head,
            "GET http://two.test/next HTTP/1.1\r\nHost: two.test\r\nProxy-Authorization: Basic dTpw\r\n\r\n");
  server_->answer("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(call(what).status, 200);
  const std::string& again = server_->requests.back().head;
  EXPECT_NE(again.find("/again HTTP/1.1"), std::string::npos);
  EXPECT_EQ(again.find("Proxy-Authorization"), again.rfind("Proxy-Authorization")) << "once: " << again;
  proxies_.except = {"127.0.0.1"};
  server_->answer("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:" + std::to_string(server_->port()) +
                  "/direct\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(call(what).status, 200);
  EXPECT_EQ(server_->requests.back().target, "/direct");
  EXPECT_EQ(server_->requests.back().head.find("Proxy-Authorization"), std::string::npos);
}

}  // namespace
}  // namespace bellwether::http1
