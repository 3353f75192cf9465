#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/http1/client_reader.h"

namespace bellwether::http1 {
namespace {

struct Outcome {
  Parse state = Parse::kMore;
  ResponseHead head;
  std::size_t consumed = 0;
};

Outcome plain(std::string_view input, bool head_request) {
  Outcome outcome;
  std::size_t scan_from = 0;
  const char* reason = "";
  outcome.state = parse_response_head(input, head_request, scan_from, outcome.head, outcome.consumed, reason);
  return outcome;
}

Outcome with(HeadMemory& memory, std::string_view input, bool head_request) {
  Outcome outcome;
  std::size_t scan_from = 0;
  const char* reason = "";
  outcome.state = memory.parse(input, head_request, scan_from, outcome.head, outcome.consumed, reason);
  return outcome;
}

bool within(std::string_view part, std::string_view whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

void expect_same(const Outcome& got, const Outcome& expected, std::string_view input) {
  ASSERT_EQ(got.state, expected.state) << input;
  if (expected.state != Parse::kDone) return;
  EXPECT_EQ(got.consumed, expected.consumed) << input;
  EXPECT_EQ(got.head.status, expected.head.status) << input;
  EXPECT_EQ(got.head.minor_version, expected.head.minor_version) << input;
  EXPECT_EQ(got.head.framing, expected.head.framing) << input;
  EXPECT_EQ(got.head.content_length, expected.head.content_length) << input;
  EXPECT_EQ(got.head.keep_alive, expected.head.keep_alive) << input;
  EXPECT_EQ(got.head.encoding, expected.head.encoding) << input;
  EXPECT_EQ(got.head.has_set_cookie, expected.head.has_set_cookie) << input;
  EXPECT_EQ(got.head.location, expected.head.location) << input;
  ASSERT_EQ(got.head.field_count, expected.head.field_count) << input;
  for (uint16_t i = 0; i < got.head.field_count; ++i) {
    EXPECT_EQ(got.head.fields[i].name, expected.head.fields[i].name);
    EXPECT_EQ(got.head.fields[i].value, expected.head.fields[i].value);
    EXPECT_TRUE(within(got.head.fields[i].name, input) && within(got.head.fields[i].value, input))
        << "views are of the bytes that came last, not of those that came first";
  }
}

std::vector<std::string> heads() {
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 40; ++i) many += "X-" + std::to_string(i) + ": " + std::to_string(i) + "\r\n";
  return {
      "HTTP/1.1 200 OK\r\nDate: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nDate: Mon, 02 Jan 2006 15:04:06 GMT\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 302 Found\r\nLocation: /next\r\nSet-Cookie: a=1\r\nConnection: close\r\n\r\n",
      "HTTP/1.0 204 No Content\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 200 OK\r\nEmpty:\r\nContent-Length: 1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: one\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX: " + std::string(2000, 'x') + "\r\nContent-Length: 5\r\n\r\n",
      many + "\r\n",
  };
}

TEST(HeadMemory, reads_each_head_as_if_it_remembered_nothing) {
  for (const std::string& first : heads()) {
    for (const std::string& second : heads()) {
      for (const bool head_request : {false, true}) {
        HeadMemory memory;
        with(memory, first, false);
        expect_same(with(memory, second, head_request), plain(second, head_request), second);
      }
    }
  }
}

TEST(HeadMemory, reads_each_of_many_heads_that_all_differ) {
  HeadMemory memory;
  for (int i = 0; i < 200; ++i) {
    const std::string head = "HTTP/1.1 200 OK\r\nX-Id: " + std::to_string(i / 2) + "\r\nContent-Length: 1\r\n\r\n";
    expect_same(with(memory, head, false), plain(head, false), head);
  }
}

TEST(HeadMemory, a_head_known_to_be_right_is_not_complete_before_its_last_byte) {
  HeadMemory memory;
  const std::string head = heads().front().substr(0, heads().front().find("\r\n\r\n") + 4);
  with(memory, head, false);
  EXPECT_EQ(with(memory, head.substr(0, head.size() - 1), false).state, Parse::kMore);
  EXPECT_EQ(with(memory, head, false).state, Parse::kDone);
}

}  // namespace
}  // namespace bellwether::http1
