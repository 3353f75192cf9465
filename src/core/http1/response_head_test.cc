#include <gmock/gmock.h>
#include <memory>
#include <rapidcheck/gtest.h>
#include <string>

#include "core/http1/head.h"

namespace bellwether::http1 {
namespace {

using Framing = ResponseHead::Framing;

struct ResponseHeadParsed {
  std::unique_ptr<const std::string> input;  // what the head points into
  Parse state = Parse::kMore;
  ResponseHead head;
  std::size_t consumed = 0;
  std::string reason;
};

ResponseHeadParsed parse_response(std::string_view input, bool head_request = false) {
  ResponseHeadParsed parsed;
  parsed.input = std::make_unique<const std::string>(input);
  std::size_t scan_from = 0;
  const char* reason = "";
  parsed.state = parse_response_head(*parsed.input, head_request, scan_from, parsed.head, parsed.consumed, reason);
  parsed.reason = reason;
  return parsed;
}

// A 200 with these fields, each with its line end.
ResponseHeadParsed with_fields(const std::string& fields, const std::string& status = "HTTP/1.1 200 OK") {
  return parse_response(status + "\r\n" + fields + "\r\n");
}

TEST(ResponseHead, a_plain_response_is_read) {
  const std::string input =
      "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\nLocation:  /next \r\nSet-Cookie: a=1\r\n\r\nhello";
  const ResponseHeadParsed parsed = parse_response(input);
  ASSERT_EQ(parsed.state, Parse::kDone) << parsed.reason;
  EXPECT_EQ(parsed.head.status, 200);
  EXPECT_EQ(parsed.head.minor_version, 1);
  EXPECT_EQ(parsed.head.framing, Framing::kLength);
  EXPECT_EQ(parsed.head.content_length, 5U);
  EXPECT_TRUE(parsed.head.keep_alive);
  EXPECT_TRUE(parsed.head.has_set_cookie);
  EXPECT_EQ(parsed.head.location, "/next");
  EXPECT_EQ(parsed.head.field_count, 4);
  EXPECT_EQ(parsed.head.header("SERVER"), "x");
  EXPECT_EQ(parsed.head.header("absent").data(), nullptr);
  EXPECT_EQ(parsed.consumed, input.size() - 5);
}

TEST(ResponseHead, the_first_of_several_fields_of_a_name_is_given) {
  EXPECT_EQ(with_fields("X: 1\r\nX: 2\r\n").head.header("x"), "1");
}

TEST(ResponseHead, the_reason_phrase_may_be_missing) {
  EXPECT_EQ(with_fields("", "HTTP/1.1 404").head.status, 404);
  EXPECT_EQ(with_fields("", "HTTP/1.1 404 ").head.status, 404);
  EXPECT_EQ(with_fields("", "HTTP/1.0 599 Odd \xc3\xa9").head.status, 599);
  for (const char* line : {"HTTP/1.1 600 Odd", "HTTP/1.1 999"}) {
    EXPECT_EQ(with_fields("", line).state, Parse::kDone) << line;
  }
}

TEST(ResponseHead, what_is_no_status_line_is_refused) {
  for (const char* line :
       {"HTTP/2.0 200 OK", "HTTP/1.2 200 OK", "HTTP/1.1  200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK",
        "HTTP/1.1 099 OK", "HTTP/1.1 000 OK", "http/1.1 200 OK", "HTTP/1.1200 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1",
        "HTTP/1.1 ", "ICY 200 OK", " HTTP/1.1 200 OK", "<html>", ""}) {
    EXPECT_EQ(with_fields("Content-Length: 0\r\n", line).state, Parse::kBad) << line;
  }
}

TEST(ResponseHead, a_beginning_that_can_be_none_is_refused_at_once) {
  EXPECT_EQ(parse_response("H").state, Parse::kMore);
  EXPECT_EQ(parse_response("HTTP/1.").state, Parse::kMore);
  EXPECT_EQ(parse_response("S").state, Parse::kBad);
  EXPECT_EQ(parse_response("HTTP/2").state, Parse::kBad);
  EXPECT_EQ(parse_response("SSH-2.0-OpenSSH").reason, "not an HTTP/1 response");
}

TEST(ResponseHead, the_framing_follows_rfc_9112) {
  EXPECT_EQ(with_fields("").head.framing, Framing::kUntilClose);
  EXPECT_FALSE(with_fields("").head.keep_alive);
  EXPECT_EQ(with_fields("Content-Length: 0\r\n").head.framing, Framing::kNone);
  EXPECT_EQ(with_fields("Content-Length: 7\r\nContent-Length: 7\r\n").head.content_length, 7U);
  EXPECT_EQ(with_fields("Content-Length: 18446744073709551615\r\n").head.content_length, UINT64_MAX);
  EXPECT_EQ(with_fields("Transfer-Encoding: Chunked\r\n").head.framing, Framing::kChunked);
  EXPECT_EQ(with_fields("Transfer-Encoding: gzip, chunked\r\n").head.framing, Framing::kChunked);
  EXPECT_EQ(with_fields("Transfer-Encoding: gzip\r\n").head.framing, Framing::kUntilClose);
  EXPECT_EQ(with_fields("Transfer-Encoding: gzip, chunked\r\n").head.encoding, Encoding::kSeveral);
  EXPECT_EQ(with_fields("Transfer-Encoding: Chunked\r\n").head.encoding, Encoding::kIdentity);
  EXPECT_EQ(with_fields("Transfer-Encoding: chunked, gzip\r\n").head.framing, Framing::kUntilClose);
}

TEST(ResponseHead, some_responses_have_no_body_whatever_their_fields_say) {
  for (const char* status : {"HTTP/1.1 100 Continue", "HTTP/1.1 204 No Content", "HTTP/1.1 304 Not Modified"}) {
    EXPECT_EQ(with_fields("Content-Length: 5\r\n", status).head.framing, Framing::kNone) << status;
    EXPECT_TRUE(with_fields("", status).head.keep_alive) << status;
  }
  EXPECT_EQ(parse_response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true).head.framing, Framing::kNone);
  EXPECT_EQ(parse_response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true).head.framing, Framing::kNone);
}

TEST(ResponseHead, version_and_connection_decide_whether_it_is_kept) {
  const std::string sized = "Content-Length: 1\r\n";
  EXPECT_TRUE(with_fields(sized).head.keep_alive);
  EXPECT_FALSE(with_fields(sized + "Connection: close\r\n").head.keep_alive);
  EXPECT_FALSE(with_fields(sized + "Connection: foo , CLOSE\r\n").head.keep_alive);
  EXPECT_FALSE(with_fields(sized + "Connection: keep-alive\r\nConnection: close\r\n").head.keep_alive);
  EXPECT_TRUE(with_fields(sized + "Connection: closed\r\n").head.keep_alive);
  EXPECT_FALSE(with_fields(sized, "HTTP/1.0 200 OK").head.keep_alive);
  EXPECT_TRUE(with_fields(sized + "Connection: Keep-Alive\r\n", "HTTP/1.0 200 OK").head.keep_alive);
}

TEST(ResponseHead, transfer_encoding_from_http_1_0_is_not_trusted_for_another_exchange) {
  const ResponseHeadParsed parsed =
      with_fields("Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n", "HTTP/1.0 200 OK");
  EXPECT_EQ(parsed.head.framing, Framing::kChunked);
  EXPECT_FALSE(parsed.head.keep_alive);
}

TEST(ResponseHead, the_content_encoding_is_known) {
  EXPECT_EQ(with_fields("").head.encoding, Encoding::kIdentity);
  EXPECT_EQ(with_fields("Content-Encoding: GZIP\r\n").head.encoding, Encoding::kGzip);
  EXPECT_EQ(with_fields("Content-Encoding: x-gzip\r\n").head.encoding, Encoding::kGzip);
  EXPECT_EQ(with_fields("Content-Encoding: br\r\n").head.encoding, Encoding::kBrotli);
  EXPECT_EQ(with_fields("Content-Encoding: ZSTD\r\n").head.encoding, Encoding::kZstd);
  EXPECT_EQ(with_fields("Content-Encoding: deflate\r\n").head.encoding, Encoding::kDeflate);
  EXPECT_EQ(with_fields("Content-Encoding: identity\r\n").head.encoding, Encoding::kIdentity);
  EXPECT_EQ(with_fields("Content-Encoding: lz4\r\n").head.encoding, Encoding::kUnknown);
  for (const char* none : {"none", "UTF-8", "binary", "aws-chunked", ""}) {
    EXPECT_EQ(with_fields("Content-Encoding: " + std::string(none) + "\r\n").head.encoding, Encoding::kIdentity)
        << none;
  }
}

std::vector<Encoding> codings_in(const std::string& fields) {
  const std::string input = "HTTP/1.1 200 OK\r\n" + fields + "\r\n";
  const Codings found = codings_of(parse_response(input).head);
  return {found.list.begin(), found.list.begin() + static_cast<std::ptrdiff_t>(found.count)};
}

TEST(ResponseHead, codings_come_in_the_order_in_which_they_were_applied) {
  using Order = std::vector<Encoding>;
  const Order both{Encoding::kGzip, Encoding::kBrotli};
  EXPECT_EQ(codings_in("Content-Encoding: gzip, br\r\n"), both);
  EXPECT_EQ(codings_in("Content-Encoding: gzip\r\nX: y\r\nContent-Encoding: br\r\n"), both);
  EXPECT_EQ(codings_in("Transfer-Encoding: br, chunked\r\nContent-Encoding: gzip\r\n"), both);
  EXPECT_EQ(codings_in("Content-Encoding: ,gzip,, identity ,br,\r\n"), both);
  EXPECT_EQ(codings_in("Transfer-Encoding: identity, chunked\r\n"), Order());
  EXPECT_EQ(codings_in("Content-Encoding: gzip, lz4, br\r\n"), Order{Encoding::kUnknown});
  EXPECT_EQ(codings_in("Content-Encoding: br, br, br, br, br\r\n"), Order{Encoding::kUnknown});
  EXPECT_EQ(codings_in("Content-Encoding: br, br, br, br\r\n").size(), kMaxCodings);
}

TEST(ResponseHead, several_codings_are_told_from_one) {
  for (const char* fields : {"Content-Encoding: gzip, br\r\n", "Content-Encoding: br\r\nContent-Encoding: gzip\r\n",
                             "Transfer-Encoding: gzip, chunked\r\n"}) {
    EXPECT_EQ(with_fields(fields).head.encoding, Encoding::kSeveral) << fields;
  }
}

TEST(ResponseHead, a_folded_line_is_told_from_a_wrong_one) {
  EXPECT_EQ(with_fields("X: 1\r\n folded\r\n").state, Parse::kFolded);
  EXPECT_EQ(with_fields("X: 1\r\n\tfolded\r\n").state, Parse::kFolded);
  EXPECT_EQ(with_fields(" folded\r\nX: 1\r\n").state, Parse::kBad);
  std::string full;
  for (std::size_t i = 0; i < ResponseHead::kMaxFields; ++i) full += "a: b\r\n";
  EXPECT_EQ(with_fields(full + " folded\r\n").state, Parse::kFolded);
}

TEST(ResponseHead, unfolding_ends_with_the_head) {
  std::string input = "HTTP/1.1 200 OK\r\nA: 1\r\n 2\n\t3\r\nB: 4\r\n \r\n\r\n body\r\n body";
  unfold(input.data(), input.size());
  EXPECT_EQ(input, "HTTP/1.1 200 OK\r\nA: 1   2 \t3\r\nB: 4   \r\n\r\n body\r\n body");
}

TEST(ResponseHead, what_two_readers_could_take_differently_is_refused) {
  for (const std::string& fields : {
           std::string("Content-Length: 1\r\nContent-Length: 2\r\n"),
           std::string("Content-Length: 1, 1\r\n"),
           std::string("Content-Length: +1\r\n"),
           std::string("Content-Length: -1\r\n"),
           std::string("Content-Length: 0x1\r\n"),
           std::string("Content-Length: 1 2\r\n"),
           std::string("Content-Length:\r\n"),
           std::string("Content-Length: 18446744073709551616\r\n"),
           std::string("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
           std::string("Transfer-Encoding: identity\r\nContent-Length: 1\r\n"),
           std::string(" folded\r\n"),
           std::string("Content-Length : 1\r\n"),
           std::string(": no name\r\n"),
           std::string("no colon\r\n"),
           std::string("X\x01: a\r\n"),
           std::string("X\xc3: a\r\n"),
           std::string("X: a\rY: b\r\n"),
           std::string("X: a\r\r\n"),
           std::string("X: a\0b\r\n", 8),
       }) {
    EXPECT_EQ(with_fields(fields).state, Parse::kBad) << fields;
    EXPECT_FALSE(with_fields(fields).reason.empty()) << fields;
  }
}

TEST(ResponseHead, contradicting_lengths_are_refused_even_where_there_is_no_body) {
  EXPECT_EQ(parse_response("HTTP/1.1 204 No\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n").state, Parse::kBad);
}

TEST(ResponseHead, bare_line_feeds_end_lines_too) {
  const ResponseHeadParsed parsed = parse_response("HTTP/1.1 200 OK\nContent-Length: 3\n\nabc");
  ASSERT_EQ(parsed.state, Parse::kDone);
  EXPECT_EQ(parsed.head.content_length, 3U);
  EXPECT_EQ(parse_response("HTTP/1.1 200 OK\nContent-Length: 3\r\n\nabc").state, Parse::kDone);
  EXPECT_EQ(parse_response("HTTP/1.1 200 OK\r\nContent-Length: 3\n\r\nabc").state, Parse::kDone);
}

TEST(ResponseHead, limits_hold_to_the_byte) {
  std::string fields;
  for (std::size_t i = 0; i < ResponseHead::kMaxFields; ++i) fields += "a: b\r\n";
  EXPECT_EQ(with_fields(fields).state, Parse::kDone);
  EXPECT_EQ(with_fields(fields + "a: b\r\n").state, Parse::kTooLarge);

  const std::string before = "HTTP/1.1 200 OK\r\nX: ";
  const std::string after = "\r\n\r\n";
  const std::string fits(ResponseHead::kMaxBytes - before.size() - after.size(), 'x');
  EXPECT_EQ(parse_response(before + fits + after).state, Parse::kDone);
  EXPECT_EQ(parse_response(before + fits + "x" + after).state, Parse::kTooLarge);
  EXPECT_EQ(parse_response(before + fits + "x").state, Parse::kMore);
  EXPECT_EQ(parse_response(before + fits + fits).state, Parse::kTooLarge);
}

// Fed in pieces of these sizes, the same buffer growing as a reader's does.
ResponseHeadParsed parse_pieces(const std::string& input, const std::vector<std::size_t>& pieces) {
  ResponseHeadParsed parsed;
  std::size_t scan_from = 0;
  std::size_t have = 0;
  const char* reason = "";
  for (std::size_t i = 0; parsed.state == Parse::kMore && have < input.size(); ++i) {
    have = std::min(input.size(), have + (i < pieces.size() ? pieces[i] : input.size()));
    parsed.state = parse_response_head(std::string_view(input).substr(0, have), false, scan_from, parsed.head,
                                       parsed.consumed, reason);
  }
  parsed.reason = reason;
  return parsed;
}

RC_GTEST_PROP(ResponseHead, a_complete_head_gives_the_same_however_it_is_split, ()) {
  const auto line = rc::gen::element<std::string>("Content-Length: 5", "Content-Length: 6",
                                                  "Transfer-Encoding: chunked", "Connection: close", "X: y", "Bad line",
                                                  " folded", "Content-Encoding: br", "X: a\rb", "Set-Cookie: a=b");
  const auto lines = *rc::gen::container<std::vector<std::string>>(line);
  std::string input = "HTTP/1.1 200 OK\r\n";
  for (const std::string& text : lines) input += text + *rc::gen::element<std::string>("\r\n", "\n");
  input += "\r\nbody";
  const auto pieces = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 20));
  const ResponseHeadParsed whole = parse_response(input);
  const ResponseHeadParsed split = parse_pieces(input, pieces);
  RC_ASSERT(split.state == whole.state);
  if (whole.state != Parse::kDone) return;
  RC_ASSERT(split.consumed == whole.consumed);
  RC_ASSERT(split.head.framing == whole.head.framing);
  RC_ASSERT(split.head.content_length == whole.head.content_length);
  RC_ASSERT(split.head.keep_alive == whole.head.keep_alive);
  RC_ASSERT(split.head.encoding == whole.head.encoding);
  RC_ASSERT(split.head.field_count == whole.head.field_count);
}

}  // namespace
}  // namespace bellwether::http1
