#include <gtest/gtest.h>

#include "cluster/membership/directory.h"

namespace bellwether::membership {
namespace {

TEST(Endpoint, is_written_as_people_write_it) {
  EXPECT_EQ(to_string(Endpoint::v4({10, 0, 0, 1}, 7946)), "10.0.0.1:7946");
  Endpoint six;
  six.port = 80;
  EXPECT_EQ(to_string(six), "[::]:80");
  six.ip = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(to_string(six), "[2001:db8::1]:80");
  six.ip = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0};
  EXPECT_EQ(to_string(six), "[fe80::1:2:0:0]:80");
  six.ip = {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8};
  EXPECT_EQ(to_string(six), "[1:2:3:4:5:6:7:8]:80");
}

}  // namespace
}  // namespace bellwether::membership
