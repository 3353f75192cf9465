#include <gtest/gtest.h>
#include <string>

#include "core/runtime/epoll/resolver.h"

namespace bellwether::runtime {
namespace {

std::string bytes(std::initializer_list<int> octets) {
  std::string text;
  for (const int octet : octets) text += static_cast<char>(octet);
  return text;
}

std::string header(int questions, int answers) {
  return bytes({1, 2, 0x81, 0x80, 0, questions, 0, answers, 0, 0, 0, 0});
}
const std::string kQuestion =
    "\x01"
    "a"
    "\x04"
    "test" +
    bytes({0, 0, 33, 0, 1});
// The name is a pointer to that of the question.
std::string record(int ttl, const std::string& data) {
  return bytes({0xc0, 12, 0, 33, 0, 1, 0, 0, ttl >> 8, ttl & 0xff, 0, static_cast<int>(data.size())}) + data;
}

TEST(DnsReply, the_shortest_lived_answer_decides) {
  const std::string reply = header(1, 3) + kQuestion + record(600, "xyz") + record(300, "") + record(601, "x");
  EXPECT_EQ(least_ttl(as_bytes(reply)), Duration::seconds(300));
}

TEST(DnsReply, without_an_answer_there_is_none) {
  EXPECT_EQ(least_ttl(as_bytes(header(1, 0) + kQuestion)), std::nullopt);
  EXPECT_EQ(least_ttl({}), std::nullopt);
}

TEST(DnsReply, one_that_is_cut_short_anywhere_is_refused) {
  const std::string reply = header(1, 2) + kQuestion + record(600, "xyz") + record(300, "abc");
  ASSERT_TRUE(least_ttl(as_bytes(reply)));
  for (std::size_t size = 0; size < reply.size(); ++size) {
    EXPECT_EQ(least_ttl(as_bytes(reply).first(size)), std::nullopt) << size;
  }
}

TEST(DnsReply, a_name_with_a_label_that_can_be_none_is_refused) {
  EXPECT_EQ(least_ttl(as_bytes(header(0, 1) + bytes({0x80}) + std::string(200, '\0'))), std::nullopt);
}

}  // namespace
}  // namespace bellwether::runtime
