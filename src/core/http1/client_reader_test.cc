#include "core/http1/client_reader.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <zlib.h>

#include "core/http1/client_reader_testing.h"

namespace bellwether::http1 {
namespace {

using State = ResponseReader::State;

// "hello, gzip" as gzip.
const std::string kGzipped(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\xd7\x51\x48\xaf\xca"
    "\x2c\x00\x00\x4a\x9b\xb1\x5c\x0b\x00\x00\x00",
    31);

ReadOutcome read(std::string_view input, const ReadOptions& options = {}, const std::vector<std::size_t>& pieces = {}) {
  BufferPool pool;
  return read_response(pool, input, options, pieces);
}

// The outcome, after it was found the same whole, byte by byte and in pieces of seven.
ReadOutcome read_every_way(const std::string& input, const ReadOptions& options = {}) {
  ReadOutcome whole = read(input, options);
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}}) {
    ReadOutcome split = read(input, options, std::vector<std::size_t>(input.size() / size + 1, size));
    // What stands behind the response is seen only when it comes with it.
    split.bytes_received = whole.bytes_received;
    split.reusable = whole.reusable;
    EXPECT_EQ(split.state, whole.state) << size << input.substr(0, 300);
    EXPECT_TRUE(split == whole) << size << " " << split.detail << " / " << whole.detail << "\n" << input.substr(0, 300);
  }
  return whole;
}

std::string response(const std::string& fields, const std::string& body, const std::string& status = "200 OK") {
  return "HTTP/1.1 " + status + "\r\n" + fields + "\r\n" + body;
}

ErrorKind error_of(const std::string& input, const ReadOptions& options = {}) {
  const ReadOutcome outcome = read_every_way(input, options);
  EXPECT_EQ(outcome.state, State::kFailed) << input.substr(0, 300);
  EXPECT_FALSE(outcome.reusable);
  EXPECT_FALSE(outcome.detail.empty());
  return outcome.error;
}

std::string chunked(const std::string& body, std::size_t piece) {
  std::string coding;
  for (std::size_t at = 0; at < body.size(); at += piece) {
    char size[20];
    const std::string part = body.substr(at, piece);
    std::snprintf(size, sizeof size, "%zx\r\n", part.size());
    coding += size + part + "\r\n";
  }
  return coding + "0\r\n\r\n";
}

std::string text_of(std::size_t size) {
  std::string text;
  for (int line = 0; text.size() < size; ++line) text += "line " + std::to_string(line) + "\n";
  text.resize(size);
  return text;
}

TEST(ResponseReader, a_body_with_a_length_is_read) {
  const ReadOutcome outcome = read_every_way(response("Content-Length: 5\r\n", "hello"));
  EXPECT_EQ(outcome.state, State::kDone);
  EXPECT_EQ(outcome.status, 200);
  EXPECT_EQ(outcome.body, "hello");
  EXPECT_TRUE(outcome.reusable);
}

TEST(ResponseReader, a_chunked_body_is_read) {
  const ReadOutcome outcome = read_every_way(response("Transfer-Encoding: chunked\r\n", chunked("hello world", 4)));
  EXPECT_EQ(outcome.body, "hello world");
  EXPECT_TRUE(outcome.reusable);
}

TEST(ResponseReader, a_body_until_the_close_is_read) {
  const ReadOutcome outcome = read_every_way(response("", "hello"));
  EXPECT_EQ(outcome.state, State::kDone);
  EXPECT_EQ(outcome.body, "hello");
  EXPECT_FALSE(outcome.reusable);
}

TEST(ResponseReader, bodies_of_every_size_come_whole_in_every_framing) {
  for (const std::size_t size : {0, 1, 4095, 4096, 12'200, 12'300, 16'000, 16'384, 16'385, 40'000, 300'000}) {
    const std::string body = text_of(size);
    const std::string length = "Content-Length: " + std::to_string(size) + "\r\n";
    for (const std::string& input :
         {response(length, body), response("Transfer-Encoding: chunked\r\n", chunked(body, 5000)),
          response("", body)}) {
      EXPECT_TRUE(read_every_way(input).body == body) << size;
      const ReadOutcome counted = read_every_way(input, {.want_body = false, .body_bytes_max = 10});
      EXPECT_EQ(counted.state, State::kDone) << size;
      EXPECT_EQ(counted.body, "") << size;
      EXPECT_EQ(counted.bytes_received, input.size()) << size;
    }
  }
}

TEST(ResponseReader, a_body_behind_a_head_of_any_size_comes_whole) {
  const std::string body = text_of(50'000);
  for (const std::size_t size : {4'000, 11'000, 12'288, 15'000, 16'300, 16'384, 16'400, 30'000, 65'000}) {
    std::string head = "X: " + std::string(size, 'x') + "\r\nContent-Length: 50000\r\n";
    EXPECT_TRUE(read_every_way(response(head, body)).body == body) << size;
    head = "X: " + std::string(size, 'x') + "\r\nTransfer-Encoding: chunked\r\n";
    EXPECT_TRUE(read_every_way(response(head, chunked(body, 7000))).body == body) << size;
  }
}

TEST(ResponseReader, responses_without_a_body_end_with_their_head) {
  const std::string length = "Content-Length: 5\r\n";
  EXPECT_EQ(read_every_way(response(length, "", "204 No Content")).state, State::kDone);
  EXPECT_EQ(read_every_way(response(length, "", "304 Not Modified")).state, State::kDone);
  const ReadOutcome head = read_every_way(response(length, ""), {.head_request = true});
  EXPECT_EQ(head.state, State::kDone);
  EXPECT_EQ(head.body, "");
  EXPECT_TRUE(head.reusable);
  EXPECT_EQ(read_every_way(response("Transfer-Encoding: chunked\r\n", ""), {.head_request = true}).state, State::kDone);
}

TEST(ResponseReader, interim_responses_are_read_over) {
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
  const ReadOutcome outcome = read_every_way(interim + response("Content-Length: 2\r\n", "ok"));
  EXPECT_EQ(outcome.status, 200);
  EXPECT_EQ(outcome.body, "ok");
  EXPECT_EQ(error_of(interim), ErrorKind::kTruncated);
  EXPECT_EQ(error_of("HTTP/1.1 101 Switching Protocols\r\n\r\n"), ErrorKind::kProtocol);
}

TEST(ResponseReader, a_series_of_interim_responses_has_an_end) {
  const std::string last = response("Content-Length: 2\r\n", "ok");
  std::string interim;
  for (int i = 0; i < ResponseReader::kMaxInterim; ++i) interim += "HTTP/1.1 102 Processing\r\n\r\n";
  EXPECT_EQ(read_every_way(interim + last).body, "ok");
  EXPECT_EQ(error_of(interim + "HTTP/1.1 103 Early Hints\r\n\r\n" + last), ErrorKind::kTooLarge);
}

TEST(ResponseReader, a_short_head_behind_a_long_interim_one_is_found) {
  const std::string interim = "HTTP/1.1 103 Early Hints\r\nLink: </a/rather/long/name/of/a/style>\r\n\r\n";
  const std::string input = interim + "HTTP/1.1 204 No\r\n\r\n";
  EXPECT_EQ(read(input, {}, {interim.size() - 2}).status, 204);
}

TEST(ResponseReader, a_head_that_just_fills_the_buffer_leaves_room_for_the_body) {
  for (const std::size_t size : {ResponseBuffer::kBytes - 4096, ResponseBuffer::kBytes - 1, ResponseBuffer::kBytes}) {
    const std::string before = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: ";
    const std::string head = before + std::string(size - before.size() - 4, 'x') + "\r\n\r\n";
    ASSERT_EQ(head.size(), size);
    EXPECT_EQ(read_every_way(head + "hello").body, "hello") << size;
  }
}

TEST(ResponseReader, bytes_behind_the_response_spoil_the_connection_and_not_the_response) {
  for (const std::string& input : {response("Content-Length: 2\r\n", "ok"), response("Content-Length: 0\r\n", ""),
                                   response("Transfer-Encoding: chunked\r\n", chunked("ok", 2))}) {
    EXPECT_TRUE(read(input).reusable);
    const ReadOutcome more = read(input + "HTTP/1.1 200 OK\r\n");
    EXPECT_EQ(more.state, State::kDone);
    EXPECT_EQ(more.body, read(input).body);
    EXPECT_FALSE(more.reusable);
  }
}

TEST(ResponseReader, a_connection_that_the_server_will_close_is_not_reusable) {
  EXPECT_FALSE(read_every_way(response("Content-Length: 2\r\nConnection: close\r\n", "ok")).reusable);
}

TEST(ResponseReader, a_close_at_the_wrong_time_is_told_by_its_place) {
  EXPECT_EQ(error_of(""), ErrorKind::kClosed);
  EXPECT_EQ(error_of("HTTP/1.1 2"), ErrorKind::kTruncated);
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"), ErrorKind::kTruncated);
  EXPECT_EQ(error_of(response("Content-Length: 3\r\n", "ok")), ErrorKind::kTruncated);
  EXPECT_EQ(error_of(response("Transfer-Encoding: chunked\r\n", "2\r\nok\r\n")), ErrorKind::kTruncated);
  EXPECT_EQ(error_of(response("Transfer-Encoding: chunked\r\n", "2\r\nok\r\n0\r\n")), ErrorKind::kTruncated);
}

TEST(ResponseReader, what_could_smuggle_is_refused) {
  for (const std::string& fields : {
           std::string("Content-Length: 1\r\nContent-Length: 2\r\n"),
           std::string("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"),
           std::string("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n"),
           std::string("Content-Length: 2, 2\r\n"),
           std::string("Content-Length: -2\r\n"),
           std::string("Content-Length: 2\r\n 2\r\n"),
           std::string(" X: a\r\nContent-Length: 2\r\n"),
           std::string("X: a\rContent-Length: 2\r\n"),
           std::string("X: a\0b\r\n", 8),
           std::string("Content-Length : 2\r\n"),
       }) {
    EXPECT_EQ(error_of(response(fields, "ok")), ErrorKind::kProtocol) << fields;
  }
  EXPECT_EQ(error_of(response("Transfer-Encoding: chunked\r\n", "2\r\nokay\r\n0\r\n\r\n")), ErrorKind::kProtocol);
  EXPECT_EQ(error_of("220 smtp.example ESMTP\r\n"), ErrorKind::kProtocol);
}

TEST(ResponseReader, heads_have_a_limit) {
  EXPECT_EQ(error_of(response("X: " + std::string(70'000, 'x') + "\r\n", "")), ErrorKind::kTooLarge);
  std::string many;
  for (int i = 0; i < 129; ++i) many += "a: b\r\n";
  EXPECT_EQ(error_of(response(many, "")), ErrorKind::kTooLarge);
  EXPECT_EQ(error_of("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x')), ErrorKind::kTooLarge);
}

TEST(ResponseReader, the_limit_of_a_kept_body_holds_to_the_byte_in_every_framing) {
  for (const std::size_t size : {100, 30'000}) {
    const std::string body = text_of(size);
    const std::string length = "Content-Length: " + std::to_string(size) + "\r\n";
    for (const std::string& input :
         {response(length, body), response("Transfer-Encoding: chunked\r\n", chunked(body, 64)), response("", body)}) {
      EXPECT_EQ(read_every_way(input, {.body_bytes_max = size}).body, body);
      const ReadOutcome whole = read(input, {.body_bytes_max = size - 1});
      EXPECT_EQ(whole.error, ErrorKind::kTooLarge) << input.substr(0, 60);
      const auto bytes = std::vector<std::size_t>(input.size(), 1);
      EXPECT_EQ(read(input, {.body_bytes_max = size - 1}, bytes).error, ErrorKind::kTooLarge) << input.substr(0, 60);
    }
  }
}

TEST(ResponseReader, an_encoded_body_is_decoded) {
  const std::string length = "Content-Length: " + std::to_string(kGzipped.size()) + "\r\nContent-Encoding: gzip\r\n";
  EXPECT_EQ(read_every_way(response(length, kGzipped)).body, "hello, gzip");
  EXPECT_EQ(
      read_every_way(response("Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n", chunked(kGzipped, 3))).body,
      "hello, gzip");
  EXPECT_EQ(read_every_way(response("Content-Encoding: gzip\r\nContent-Length: 0\r\n", "")).body, "");
}

TEST(ResponseReader, an_encoding_that_is_broken_fails_only_who_wants_the_body) {
  const std::string broken = response("Content-Encoding: gzip\r\nContent-Length: 4\r\n", "junk");
  const std::string other = response("Content-Encoding: zstd\r\nContent-Length: 4\r\n", "junk");
  EXPECT_EQ(error_of(broken), ErrorKind::kDecode);
  EXPECT_EQ(error_of(other), ErrorKind::kDecode);
  EXPECT_EQ(error_of(response("Content-Encoding: br, gzip\r\n", kGzipped)), ErrorKind::kDecode);
  EXPECT_EQ(error_of(response("Content-Encoding: gzip\r\n", kGzipped.substr(0, 20))), ErrorKind::kDecode);
  EXPECT_EQ(read_every_way(broken, {.want_body = false}).state, State::kDone);
  EXPECT_EQ(read_every_way(other, {.want_body = false}).state, State::kDone);
  EXPECT_EQ(error_of(response("Content-Encoding: gzip\r\n", kGzipped), {.body_bytes_max = 10}), ErrorKind::kTooLarge);
}

TEST(ResponseReader, codings_over_each_other_are_undone_from_the_last_to_the_first) {
  std::string twice;
  {
    z_stream stream{};
    ASSERT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string in = kGzipped;
    twice.resize(200);
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(twice.data());
    stream.avail_out = static_cast<uInt>(twice.size());
    ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    twice.resize(stream.total_out);
    deflateEnd(&stream);
  }
  for (const char* fields : {"Content-Encoding: gzip, gzip\r\n", "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n",
                             "Transfer-Encoding: gzip\r\nContent-Encoding: x-gzip\r\n"}) {
    EXPECT_EQ(read_every_way(response(fields, twice)).body, "hello, gzip") << fields;
  }
  const std::string chunks = response("Transfer-Encoding: gzip, chunked\r\n", chunked(kGzipped, 7));
  EXPECT_EQ(read_every_way(chunks).body, "hello, gzip");
  EXPECT_EQ(error_of(response("Content-Encoding: gzip, gzip\r\n", twice), {.body_bytes_max = 20}),
            ErrorKind::kTooLarge);
}

TEST(ResponseReader, a_body_of_an_unknown_coding_is_as_it_came) {
  BufferPool pool;
  const std::string input = response("Content-Encoding: lz4\r\nContent-Length: 4\r\n", "junk");
  ResponseReader reader(pool, false, true, 100);
  std::memcpy(reader.space().data(), input.data(), input.size());
  ASSERT_EQ(reader.received(input.size()), State::kDone);
  EXPECT_TRUE(reader.has_unknown_coding());
  EXPECT_EQ(reader.body(), "junk");
  EXPECT_EQ(read_every_way(response("Content-Encoding: gzip, lz4\r\n", "junk")).body, "junk");
  EXPECT_EQ(read_every_way(response("Content-Encoding: UTF-8\r\n", "text")).body, "text");
}

TEST(ResponseReader, folded_fields_are_read_as_one_line) {
  const std::string input = response("X: a\r\n b\r\n\t c\r\nY:\r\n d\r\nContent-Length: \r\n 2\r\n", "ok");
  EXPECT_EQ(read_every_way(input).body, "ok");
  BufferPool pool;
  HeadMemory heads;
  for (int round = 0; round < 3; ++round) {
    ResponseReader reader(pool, false, true, 100, &heads);
    std::memcpy(reader.space().data(), input.data(), input.size());
    ASSERT_EQ(reader.received(input.size()), State::kDone);
    EXPECT_EQ(reader.head().header("x"), "a   b  \t c");
    EXPECT_EQ(reader.head().header("y"), "d");
  }
  EXPECT_EQ(read_every_way("HTTP/1.1 100 Go\r\nX: a\r\n b\r\n\r\n" + input).body, "ok");
  EXPECT_EQ(read_every_way(response("X: a\r\n b\r\n", "\r\n ok\r\n ok")).body, "\r\n ok\r\n ok");
}

TEST(ResponseReader, a_status_beyond_the_classes_is_read) {
  EXPECT_EQ(read_every_way(response("Content-Length: 2\r\n", "ok", "999 Odd")).status, 999);
  EXPECT_EQ(error_of(response("Content-Length: 2\r\n", "ok", "099 Odd")), ErrorKind::kProtocol);
}

TEST(ResponseReader, buffers_are_used_again_for_responses_of_every_kind) {
  BufferPool pool;
  const std::string large = text_of(100'000);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(read_response(pool, response("", large), {}, {}).body == large);
    EXPECT_EQ(read_response(pool, response("Content-Length: 2\r\n", "ok"), {}, {}).body, "ok");
    EXPECT_EQ(read_response(pool, response("Content-Encoding: gzip\r\n", kGzipped), {}, {}).body, "hello, gzip");
    EXPECT_EQ(read_response(pool, response("Content-Encoding: gzip\r\n", "junk"), {}, {}).error, ErrorKind::kDecode);
    EXPECT_EQ(read_response(pool, "HTTP/1.1 200", {}, {}).error, ErrorKind::kTruncated);
  }
}

RC_GTEST_PROP(ResponseReader, a_random_split_changes_nothing, ()) {
  const std::string body = text_of(*rc::gen::inRange<std::size_t>(0, 40'000));
  const bool want = *rc::gen::arbitrary<bool>();
  const ReadOptions options{.want_body = want, .body_bytes_max = *rc::gen::inRange<uint64_t>(0, 80'000)};
  const std::string input = *rc::gen::element(
      response("Content-Length: " + std::to_string(body.size()) + "\r\n", body),
      response("Transfer-Encoding: chunked\r\n", chunked(body, 1 + body.size() / 3)), response("", body),
      response("X: " + std::string(body.size(), 'x') + "\r\nContent-Length: 1\r\n", "x", "404 Not Found"),
      "HTTP/1.1 100 Continue\r\n\r\n" + response("Content-Length: 9\r\n", "short"));
  const auto pieces = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 9'000));
  ReadOutcome split = read(input, options, pieces);
  const ReadOutcome whole = read(input, options);
  if (whole.state == State::kFailed) split.bytes_received = whole.bytes_received;  // it may show earlier
  RC_ASSERT(split == whole);
}

}  // namespace
}  // namespace bellwether::http1
