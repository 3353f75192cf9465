#include <gtest/gtest.h>

#include "core/base/host_port.h"

namespace bellwether {
namespace {

TEST(HostName, letters_beyond_ascii_become_those_of_the_dns) {
  EXPECT_EQ(ascii_host("bücher.example").value(), "xn--bcher-kva.example");
  EXPECT_EQ(ascii_host("BÜCHER.example").value(), "xn--bcher-kva.example");
  EXPECT_EQ(ascii_host("faß.de").value(), "xn--fa-hia.de");
  EXPECT_EQ(ascii_host("例え。jp").value(), "xn--r8jz45g.jp");
}

TEST(HostName, ascii_stays_as_it_is) {
  for (const char* name : {"example.org", "Example.ORG", "my_host", "127.0.0.1", "xn--bcher-kva.example", ""}) {
    EXPECT_EQ(ascii_host(name).value(), name);
  }
}

TEST(HostName, what_is_no_name_is_refused) {
  EXPECT_FALSE(
      ascii_host("b\xfc"
                 "cher.example"));
  EXPECT_FALSE(ascii_host("\u200d.example"));
  EXPECT_FALSE(ascii_host(std::string(60, 'x') + "ü.example"));
}

}  // namespace
}  // namespace bellwether
