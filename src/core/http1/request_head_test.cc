#include <gmock/gmock.h>
#include <string>

#include "core/http1/head.h"

namespace bellwether::http1 {
namespace {

struct Parsed {
  Parse state = Parse::kMore;
  RequestHead head;
  std::size_t consumed = 0;
  std::string reason;
};

Parsed parse(std::string_view input) {
  Parsed parsed;
  std::size_t scan_from = 0;
  const char* reason = "";
  parsed.state = parse_request_head(input, scan_from, parsed.head, parsed.consumed, reason);
  parsed.reason = reason;
  return parsed;
}

TEST(RequestHead, a_plain_request_is_read) {
  const std::string input = "GET /items?page=2#top HTTP/1.1\r\nHost: a\r\nX-One: 1\r\n\r\nGET";
  const Parsed parsed = parse(input);
  ASSERT_EQ(parsed.state, Parse::kDone);
  EXPECT_EQ(parsed.head.method, "GET");
  EXPECT_EQ(parsed.head.path, "/items");
  EXPECT_EQ(parsed.head.query, "page=2");
  EXPECT_EQ(parsed.head.header("x-one"), "1");
  EXPECT_EQ(parsed.head.framing, RequestHead::Framing::kNone);
  EXPECT_TRUE(parsed.head.keep_alive);
  EXPECT_EQ(parsed.consumed, input.size() - 3);
}

TEST(RequestHead, every_form_of_target_has_a_path) {
  EXPECT_EQ(parse("GET http://h:1/a/b?c HTTP/1.1\r\nHost: h\r\n\r\n").head.path, "/a/b");
  EXPECT_EQ(parse("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n").head.path, "/");
  EXPECT_EQ(parse("GET http://h?q HTTP/1.1\r\nHost: h\r\n\r\n").head.query, "q");
  EXPECT_EQ(parse("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").head.path, "*");
  EXPECT_EQ(parse("GET /go?to=http://x/y HTTP/1.1\r\nHost: h\r\n\r\n").head.path, "/go");
}

TEST(RequestHead, the_length_of_the_body_is_known) {
  const Parsed sized = parse("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\nExpect: 100-Continue\r\n\r\n");
  EXPECT_EQ(sized.head.framing, RequestHead::Framing::kLength);
  EXPECT_EQ(sized.head.content_length, 12U);
  EXPECT_TRUE(sized.head.expect_continue);
  const Parsed chunked = parse("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n");
  EXPECT_EQ(chunked.head.framing, RequestHead::Framing::kChunked);
  EXPECT_EQ(parse("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n").head.framing, RequestHead::Framing::kNone);
}

TEST(RequestHead, version_and_connection_decide_whether_it_stays_open) {
  EXPECT_FALSE(parse("GET / HTTP/1.1\r\nHost: h\r\nConnection: foo, Close\r\n\r\n").head.keep_alive);
  EXPECT_FALSE(parse("GET / HTTP/1.0\r\n\r\n").head.keep_alive);
  EXPECT_TRUE(parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").head.keep_alive);
}

TEST(RequestHead, every_split_gives_the_same_answer) {
  const std::string input = "\r\nPOST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n";
  Parsed parsed;
  std::size_t scan_from = 0;
  const char* reason = "";
  for (std::size_t size = 0; size <= input.size(); ++size) {
    const auto piece = std::string_view(input).substr(0, size);
    parsed.state = parse_request_head(piece, scan_from, parsed.head, parsed.consumed, reason);
    ASSERT_EQ(parsed.state, size == input.size() ? Parse::kDone : Parse::kMore) << size << reason;
  }
  EXPECT_EQ(parsed.consumed, input.size());
  EXPECT_EQ(parsed.head.path, "/a");
  EXPECT_EQ(parsed.head.content_length, 3U);
}

TEST(RequestHead, what_two_readers_could_take_differently_is_refused) {
  for (const std::string_view fields : {
           "X: 1\r\n",
           "Host: a\r\nHost: b\r\n",
           "Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
           "Host: a\r\nContent-Length: +1\r\n",
           "Host: a\r\nContent-Length: 99999999999999999999\r\n",
           "Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
           "Host: a\r\nTransfer-Encoding: chunked, gzip\r\n",
           "Host: a\r\n folded\r\n",
           "Host: a\r\nName : x\r\n",
           "Host: a\r\nX: a\rb\r\n",
       }) {
    const std::string input = "GET / HTTP/1.1\r\n" + std::string(fields) + "\r\n";
    EXPECT_EQ(parse(input).state, Parse::kBad) << input;
  }
  EXPECT_EQ(parse("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n").state, Parse::kBad);
}

TEST(RequestHead, what_is_no_request_line_is_refused) {
  for (const std::string_view line : {"GET  / HTTP/1.1", "GET / HTTP/2.0", "GET / HTTP/1.1 ", "GET /", "GET / http/1.1",
                                      "G(T / HTTP/1.1", "GET /\x01 HTTP/1.1", "GET /a b HTTP/1.1", "GET / HTTP/1.12"}) {
    EXPECT_EQ(parse(std::string(line) + "\r\nHost: a\r\n\r\n").state, Parse::kBad) << line;
  }
  EXPECT_EQ(parse(std::string("\x16\x03\x01", 3)).state, Parse::kBad);
  EXPECT_EQ(parse(std::string(20, '\n')).state, Parse::kBad);
}

TEST(RequestHead, what_never_ends_is_refused) {
  EXPECT_EQ(parse("GET /" + std::string(RequestHead::kMaxBytes, 'a')).state, Parse::kTooLarge);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 128; ++i) many += "a: b\r\n";
  EXPECT_EQ(parse(many + "\r\n").state, Parse::kTooLarge);
}

}  // namespace
}  // namespace bellwether::http1
