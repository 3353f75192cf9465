#include <gtest/gtest.h>

#include "core/http1/client_connections.h"

namespace bellwether::http1 {
namespace {

TEST(Proxies, are_chosen_by_scheme_and_host) {
  Proxies proxies;
  proxies.http = Proxy{"plain", 3128, {}};
  EXPECT_EQ(proxies.find(false, "h")->host, "plain");
  EXPECT_EQ(proxies.find(true, "h"), nullptr);
  proxies.https = Proxy{"tunnels", 3128, {}};
  EXPECT_EQ(proxies.find(true, "h")->host, "tunnels");
}

TEST(Proxies, exceptions_are_hosts_with_all_below_and_domains) {
  Proxies proxies{Proxy{"p", 1, {}}, Proxy{"p", 1, {}}, {"shop.test", ".inner.test", "10.0.0.1"}};
  for (const std::string host : {"shop.test", "SHOP.test", "api.shop.test", "a.inner.test", "10.0.0.1"}) {
    EXPECT_EQ(proxies.find(false, host), nullptr) << host;
  }
  for (const std::string host : {"workshop.test", "inner.test", "10.0.0.11", "test"}) {
    EXPECT_NE(proxies.find(true, host), nullptr) << host;
  }
  proxies.except = {"*"};
  EXPECT_EQ(proxies.find(false, "anything"), nullptr);
}

TEST(Proxies, a_tunnel_is_asked_for_by_host_and_port) {
  EXPECT_EQ(connect_head("h", 443, {"p", 1, {}}), "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n");
  EXPECT_EQ(connect_head("::1", 8443, {"p", 1, "Basic eA=="}),
            "CONNECT [::1]:8443 HTTP/1.1\r\nHost: [::1]:8443\r\nProxy-Authorization: Basic eA==\r\n\r\n");
}

}  // namespace
}  // namespace bellwether::http1
