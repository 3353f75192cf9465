#include <algorithm>
#include <gmock/gmock.h>
#include <vector>

#include "election/store/web/web_client.h"

namespace bellwether::store {
namespace {

using testing::ElementsAre;

// The lines of a response that comes in pieces of this size, and how it ended.
struct Read {
  std::vector<std::string> lines;
  int status = 0;
  bool over = false;
  Status state;
};

Read read(const std::string& bytes, std::size_t piece, bool closed = false) {
  http1::BufferPool pool;
  LineReader reader(pool);
  Read result;
  for (std::size_t at = 0; at < bytes.size() && result.state && !reader.over();) {
    const MutableBytes space = reader.space();
    const std::size_t count = bytes.copy(reinterpret_cast<char*>(space.data()), std::min(piece, space.size()), at);
    at += count;
    result.state = reader.received(count);
    while (auto line = reader.next()) result.lines.push_back(*line);
  }
  if (closed && result.state) result.state = reader.ended();
  while (auto line = reader.next()) result.lines.push_back(*line);
  result.status = reader.status();
  result.over = reader.over();
  return result;
}

TEST(LineReader, lines_come_out_as_soon_as_they_are_whole_however_they_are_cut) {
  const std::string bytes =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4\r\none\n\r\n2\r\ntw\r\n7\r\no\n\nthre\r\n";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const Read result = read(bytes, piece);
    ASSERT_TRUE(result.state) << result.state.error().message;
    EXPECT_THAT(result.lines, ElementsAre("one", "two", "")) << piece;
    EXPECT_EQ(result.status, 200);
    EXPECT_FALSE(result.over);
  }
}

TEST(LineReader, the_last_line_needs_no_end) {
  for (const std::size_t piece : {1u, 7u, 1000u}) {
    const Read chunks =
        read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na\nend\r\n0\r\n\r\nmore", piece);
    EXPECT_TRUE(chunks.over);
    EXPECT_THAT(chunks.lines, ElementsAre("a", "end"));
    const Read counted = read("HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\na\nendmore", piece);
    EXPECT_TRUE(counted.over);
    EXPECT_EQ(counted.status, 403);
    EXPECT_THAT(counted.lines, ElementsAre("a", "end"));
    const Read closed = read("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\na\nend", piece, true);
    EXPECT_TRUE(closed.over);
    EXPECT_THAT(closed.lines, ElementsAre("a", "end"));
  }
}

TEST(LineReader, a_connection_that_ends_in_the_middle_is_an_error) {
  for (const std::string bytes : {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na\n",
                                  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\na\n"}) {
    const Read result = read(bytes, 3, true);
    ASSERT_FALSE(result.state) << bytes;
    EXPECT_EQ(result.state.error().code, Errc::kClosed);
  }
}

TEST(LineReader, what_is_no_response_or_has_no_end_is_refused) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string endless = "HTTP/1.1 200 OK\r\n\r\n" + std::string(LineReader::kMaxLine + 1, 'x');
  for (const std::string& bytes : {std::string("-ERR unknown command\r\n"), head + "zz\r\n", endless}) {
    const Read result = read(bytes, 100'000);
    ASSERT_FALSE(result.state) << bytes.substr(0, 100);
    EXPECT_EQ(result.state.error().code, Errc::kProtocol);
  }
  const Read many = read("HTTP/1.1 200 OK\r\n\r\n" + std::string(LineReader::kMaxLine + 1, '\n'), 100'000);
  EXPECT_TRUE(many.state) << "many lines are no long line";
}

}  // namespace
}  // namespace bellwether::store
