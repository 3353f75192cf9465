#include "core/http1/client_stowed.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace bellwether::http1 {
namespace {

// A response as the client leaves it, with head and body in its buffer.
Response received(BufferPool& pool, const std::string& fields, const std::string& body) {
  const std::string head =
      "HTTP/1.1 404 Not Found\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + fields + "\r\n";
  Response out;
  out.buffer = pool.take();
  char* const bytes = out.buffer->bytes.data();
  std::copy(head.begin(), head.end(), bytes);
  std::copy(body.begin(), body.end(), bytes + head.size());
  std::size_t scan = 0;
  std::size_t consumed = 0;
  const char* reason = "";
  EXPECT_EQ(parse_response_head({bytes, head.size()}, false, scan, out.buffer->head, consumed, reason), Parse::kDone)
      << reason;
  out.status = out.buffer->head.status;
  out.body = {bytes + head.size(), body.size()};
  return out;
}

RC_GTEST_PROP(StowedResponse, comes_back_as_it_was_whatever_became_of_its_buffer, ()) {
  BufferPool pool;
  std::string fields = "Location: /elsewhere\r\nSet-Cookie: a=b\r\n";
  const int more = *rc::gen::inRange(0, 100);
  for (int i = 0; i < more; ++i) fields += "X-" + std::to_string(i) + ": " + std::string(i % 7, 'v') + "\r\n";
  const std::string body(*rc::gen::inRange<std::size_t>(0, 4'000), 'b');
  Response response = received(pool, fields, body);
  response.bytes_received = 77;
  StowedResponse stowed;
  stowed.take(response);
  RC_ASSERT(!stowed.empty());
  RC_ASSERT(response.buffer == nullptr);
  // The next owner of the buffer writes over it.
  received(pool, "Other: one\r\n", std::string(9'000, 'o'));
  stowed.restore(response);
  RC_ASSERT(stowed.empty());
  RC_ASSERT(response.status == 404);
  RC_ASSERT(response.bytes_received == 77u);
  RC_ASSERT(response.body == body);
  const ResponseHead& head = response.head();
  RC_ASSERT(head.status == 404);
  RC_ASSERT(head.content_length == body.size());
  RC_ASSERT(head.has_set_cookie);
  RC_ASSERT(head.location == "/elsewhere");
  RC_ASSERT(head.field_count == more + 3);
  for (int i = 0; i < more; ++i) {
    const std::string_view value = head.header("x-" + std::to_string(i));
    RC_ASSERT(value.data() != nullptr);
    RC_ASSERT(value == std::string(i % 7, 'v'));
  }
}

TEST(StowedResponse, is_nothing_where_there_is_nothing_or_too_much) {
  BufferPool pool;
  StowedResponse stowed;
  Response none;
  stowed.take(none);
  EXPECT_TRUE(stowed.empty());
  stowed.restore(none);
  EXPECT_EQ(none.buffer, nullptr);
  Response large = received(pool, "", std::string(9'000, 'b'));
  stowed.take(large);
  EXPECT_TRUE(stowed.empty());
  EXPECT_EQ(large.body.size(), 9'000u);
  stowed.restore(large);
  EXPECT_EQ(large.body, std::string(9'000, 'b'));
}

}  // namespace
}  // namespace bellwether::http1
