#include "core/runtime/address.h"

#include <gtest/gtest.h>

#include "core/runtime/epoll/sockets.h"

namespace bellwether::runtime {
namespace {

TEST(IpAddress, reads_and_writes_both_families) {
  for (const char* text : {"127.0.0.1", "0.0.0.0", "255.255.255.255", "::1", "::", "2001:db8::42", "fe80::1"}) {
    const auto address = IpAddress::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->to_string(), text);
  }
}

TEST(IpAddress, the_mapped_form_is_the_ipv4_address) {
  const auto mapped = IpAddress::parse("::ffff:10.1.2.3");
  ASSERT_TRUE(mapped);
  EXPECT_EQ(*mapped, IpAddress::v4(0x0a010203));
  EXPECT_TRUE(mapped->is_v4());
  EXPECT_EQ(mapped->v4_value(), 0x0a010203u);
  EXPECT_FALSE(IpAddress::parse("::1")->is_v4());
}

TEST(IpAddress, refuses_what_is_no_address) {
  using std::string_view_literals::operator""sv;
  for (const auto text : {""sv, "localhost"sv, "1.2.3"sv, "1.2.3.4.5"sv, "256.1.1.1"sv, "[::1]"sv, "::1%lo"sv,
                          " 127.0.0.1"sv, "127.0.0.1\0x"sv}) {
    const auto address = IpAddress::parse(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, Errc::kInvalid);
  }
}

TEST(Endpoint, reads_and_writes_both_families) {
  for (const char* text : {"127.0.0.1:80", "[::1]:65535", "10.0.0.1:0"}) {
    const auto endpoint = Endpoint::parse(text);
    ASSERT_TRUE(endpoint) << text;
    EXPECT_EQ(endpoint->to_string(), text);
  }
  EXPECT_EQ(Endpoint::parse("localhost:8080")->to_string(), "127.0.0.1:8080");
}

TEST(Endpoint, refuses_missing_and_impossible_ports) {
  for (const char* text : {"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:http",
                           "example.org:80", "[::1:80"}) {
    EXPECT_FALSE(Endpoint::parse(text)) << text;
  }
  EXPECT_EQ(Endpoint::parse("127.0.0.1:65536").error().message,
            "'127.0.0.1:65536' has port 65536; a port is at most 65535");
}

TEST(SocketAddress, keeps_the_endpoint_in_both_families) {
  for (const char* text : {"192.0.2.7:443", "[2001:db8::42]:8443"}) {
    const Endpoint endpoint = *Endpoint::parse(text);
    const SocketAddress address(endpoint, endpoint.address.is_v4());
    EXPECT_EQ(address.family(), endpoint.address.is_v4() ? AF_INET : AF_INET6);
    EXPECT_EQ(address.endpoint(), endpoint);
  }
  const Endpoint mapped = *Endpoint::parse("192.0.2.7:443");
  EXPECT_EQ(SocketAddress(mapped, /*v4=*/false).endpoint(), mapped) << "on a socket of both families";
}

}  // namespace
}  // namespace bellwether::runtime
