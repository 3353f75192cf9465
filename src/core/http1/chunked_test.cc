#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>

#include "core/http1/body_coding.h"

namespace bellwether::http1 {
namespace {

struct Decoded {
  Parse state = Parse::kMore;
  std::string body;
  std::size_t consumed = 0;
  bool operator==(const Decoded&) const = default;
};

// Decodes in pieces of these sizes, then the rest in one.
Decoded decode(const std::string& coding, const std::vector<std::size_t>& pieces = {}) {
  ChunkedDecoder decoder;
  Decoded out;
  for (std::size_t i = 0; out.state == Parse::kMore && out.consumed < coding.size(); ++i) {
    std::string piece = coding.substr(out.consumed, i < pieces.size() ? pieces[i] : coding.size());
    const auto step = decoder.decode(piece.data(), piece.size());
    out.state = step.state;
    out.consumed += step.consumed;
    out.body.append(piece, 0, step.produced);
  }
  return out;
}

Decoded byte_by_byte(const std::string& coding) { return decode(coding, std::vector<std::size_t>(coding.size(), 1)); }

TEST(Chunked, chunks_become_a_body) {
  const std::string coding = "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\n\r\n";
  const Decoded decoded = decode(coding + "next");
  EXPECT_EQ(decoded.state, Parse::kDone);
  EXPECT_EQ(decoded.body, "hello world");
  EXPECT_EQ(decoded.consumed, coding.size());
  EXPECT_EQ(byte_by_byte(coding + "next"), decoded);
}

TEST(Chunked, sizes_are_hexadecimal_in_either_case) {
  EXPECT_EQ(decode("a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n").body, "01234567890123456789");
}

TEST(Chunked, bare_line_feeds_blanks_and_trailers_are_read_over) {
  for (const char* coding : {"1\na\n0\n\n", "1 \r\na\r\n0\t\r\n\r\n", "1\r\na\r\n0\r\nX: y\r\nZ: \r\n\r\n",
                             "1;a=\"b;c\"\r\na\r\n0;x\r\n\r\n"}) {
    EXPECT_EQ(decode(coding).state, Parse::kDone) << coding;
    EXPECT_EQ(decode(coding).body, "a") << coding;
    EXPECT_EQ(decode(coding).consumed, std::string(coding).size()) << coding;
  }
}

TEST(Chunked, broken_framing_is_refused) {
  for (const char* coding :
       {"\r\n", "x\r\n", "-1\r\n", "+1\r\n", "0x1\r\na", ";ext\r\n", "1\r\nab", "1\r\na\rb", "1\ra\r\n", "1;e\rx\r\n",
        " 1\r\na\r\n", "1\r\na\r\n\r\n", "0\r\n\rx", "g\r\n", "1g\r\n", "1\r\r\na"}) {
    EXPECT_EQ(decode(coding).state, Parse::kBad) << coding;
    EXPECT_EQ(byte_by_byte(coding), decode(coding)) << coding;
  }
}

TEST(Chunked, what_is_missing_is_waited_for) {
  const std::string coding = "5\r\nhello\r\n0\r\nX: y\r\n\r\n";
  for (std::size_t size = 0; size < coding.size(); ++size) {
    EXPECT_EQ(decode(coding.substr(0, size)).state, Parse::kMore) << size;
  }
}

TEST(Chunked, sizes_lines_and_trailers_have_limits) {
  EXPECT_EQ(decode("fffffffffffffff\r\n").state, Parse::kMore);
  EXPECT_EQ(decode("ffffffffffffffff\r\n").state, Parse::kTooLarge);
  EXPECT_EQ(decode(std::string(16, '0') + "\r\n").state, Parse::kTooLarge);
  const std::size_t line = ChunkedDecoder::kMaxLine;
  EXPECT_EQ(decode("1;" + std::string(line - 3, 'e') + "\n").state, Parse::kMore);
  EXPECT_EQ(decode("1;" + std::string(line - 2, 'e') + "\n").state, Parse::kTooLarge);
  const std::size_t trailers = ChunkedDecoder::kMaxTrailers;
  EXPECT_EQ(decode("0\n" + std::string(trailers - 2, 't') + "\n\n").state, Parse::kDone);
  EXPECT_EQ(decode("0\n" + std::string(trailers - 1, 't') + "\n\n").state, Parse::kTooLarge);
}

TEST(Chunked, reset_starts_a_new_body) {
  ChunkedDecoder decoder;
  std::string half = "5\r\nhel";
  decoder.decode(half.data(), half.size());
  decoder.reset();
  std::string whole = "1\r\na\r\n0\r\n\r\n";
  EXPECT_EQ(decoder.decode(whole.data(), whole.size()).state, Parse::kDone);
}

RC_GTEST_PROP(Chunked, any_body_in_any_chunks_and_any_pieces_comes_back, ()) {
  const auto chunks = *rc::gen::container<std::vector<std::string>>(rc::gen::nonEmpty<std::string>());
  const auto pieces = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 9));
  Decoded expected;
  std::string coding;
  for (const std::string& chunk : chunks) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", chunk.size());
    coding += size + chunk + "\r\n";
    expected.body += chunk;
  }
  coding += "0\r\n\r\n";
  expected.state = Parse::kDone;
  expected.consumed = coding.size();
  RC_ASSERT(decode(coding, pieces) == expected);
}

RC_GTEST_PROP(Chunked, any_bytes_give_the_same_however_they_are_split, ()) {
  const auto coding = *rc::gen::container<std::string>(rc::gen::element('\r', '\n', '0', '1', '3', ';', 'a', 'x', ' '));
  const auto pieces = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 5));
  RC_ASSERT(decode(coding, pieces) == decode(coding));
}

}  // namespace
}  // namespace bellwether::http1
