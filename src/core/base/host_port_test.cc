#include "core/base/host_port.h"

#include <gmock/gmock.h>

namespace bellwether {
namespace {

TEST(HostPort, is_read_and_written_in_the_same_form) {
  for (const char* text : {"10.0.0.1:9000", "[::1]:9000", "manager.example:1", "[fe80::1]:65535"}) {
    const auto place = parse_host_port(text, 80);
    ASSERT_TRUE(place) << text;
    EXPECT_EQ(to_string(*place), text);
  }
}

TEST(HostPort, an_error_that_names_the_place_is_cut) {
  EXPECT_EQ(without_place({"::1", 1}, "connecting to [::1]:1: refused"), "refused");
  EXPECT_EQ(without_place({"::1", 2}, "connecting to [::1]:1: refused"), "connecting to [::1]:1: refused");
}

TEST(HostPort, without_a_port_has_the_usual_one) {
  EXPECT_EQ(parse_host_port("a", 9000), (HostPort{"a", 9000}));
  EXPECT_EQ(parse_host_port("[::1]", 9000), (HostPort{"::1", 9000}));
}

TEST(HostPort, says_what_is_wrong) {
  const auto error_of = [](const char* text) {
    const auto place = parse_host_port(text, 9000);
    return place ? std::string("none") : place.error().message;
  };
  EXPECT_THAT(error_of(""), testing::HasSubstr("host is missing"));
  EXPECT_THAT(error_of(":80"), testing::HasSubstr("host is missing"));
  EXPECT_THAT(error_of("a:"), testing::HasSubstr("'' is not a port"));
  EXPECT_THAT(error_of("a:0"), testing::HasSubstr("port 0 is no address that others can connect to"));
  EXPECT_THAT(error_of("a:65536"), testing::HasSubstr("'65536' is not a port"));
  EXPECT_THAT(error_of("::1"), testing::HasSubstr("in brackets: [::1]"));
  EXPECT_THAT(error_of("[::1"), testing::HasSubstr("']'"));
  EXPECT_THAT(error_of("[::1]9000"), testing::HasSubstr("':' and the port"));
}

}  // namespace
}  // namespace bellwether
