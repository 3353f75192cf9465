#include "cluster/wire/compress.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cluster/wire/big_endian.h"
#include "cluster/wire/wire_testing.h"

namespace bellwether::wire {
namespace {

std::string text_of(std::size_t size) {
  std::string text;
  for (uint64_t i = 0; text.size() < size; ++i) text += std::to_string(i * 2654435761U % 1000003U) + ", ";
  return text.substr(0, size);
}

RC_GTEST_PROP(Compress, what_was_deflated_inflates_to_itself, (const std::string& piece)) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += piece;
  std::vector<std::byte> small;
  RC_PRE(deflate_body(as_bytes(text), {}, small));
  RC_ASSERT(small.size() < text.size());
  std::vector<std::byte> back;
  RC_ASSERT(inflate_body(small, {}, back) == Refusal::kNone);
  RC_ASSERT(as_text(back) == text);
}

TEST(Compress, what_does_not_get_smaller_is_left_alone) {
  std::vector<std::byte> out = bytes_of("before");
  EXPECT_FALSE(deflate_body(as_bytes("q8$Zp"), {}, out));
  EXPECT_FALSE(deflate_body({}, {}, out));
  EXPECT_EQ(as_text(out), "before");
}

TEST(Compress, what_the_other_end_would_refuse_is_not_compressed) {
  std::vector<std::byte> out;
  EXPECT_FALSE(deflate_body(as_bytes(std::string(1 << 20, 'a')), {}, out)) << "more than a hundred to one";
  EXPECT_TRUE(deflate_body(as_bytes(text_of(1 << 20)), {}, out));
}

TEST(Compress, a_bomb_is_refused_by_what_it_announces) {
  std::vector<std::byte> bomb(1000);
  std::vector<std::byte> out;
  store_be(bomb.data(), uint32_t{100'000});
  EXPECT_EQ(inflate_body(bomb, {}, out), Refusal::kGarbage) << "within the ratio: looked at, and no zlib stream";
  store_be(bomb.data(), uint32_t{100'101});
  EXPECT_EQ(inflate_body(bomb, {}, out), Refusal::kBomb);
  store_be(bomb.data(), uint32_t{0xffffffff});
  EXPECT_EQ(inflate_body(bomb, {}, out), Refusal::kBomb);
  EXPECT_EQ(out.capacity() >= 1'000'000, false) << "no room was made for it";
}

TEST(Compress, the_inflated_size_has_a_limit_of_its_own) {
  std::vector<std::byte> big(1024 * 1024);
  std::vector<std::byte> out;
  store_be(big.data(), uint32_t{50 * 1024 * 1024 + 1});
  EXPECT_EQ(inflate_body(big, {}, out), Refusal::kBomb);
  EXPECT_EQ(inflate_body(std::vector<std::byte>(1024 * 1024 + 1), {}, out), Refusal::kOversized);
}

TEST(Compress, a_body_that_lies_about_its_size_is_refused) {
  const std::string text = text_of(5000);
  std::vector<std::byte> small;
  ASSERT_TRUE(deflate_body(as_bytes(text), {}, small));
  std::vector<std::byte> out;
  for (const uint32_t lie : {4999U, 5001U, 0U}) {
    store_be(small.data(), lie);
    EXPECT_EQ(inflate_body(small, {}, out), Refusal::kGarbage) << lie;
  }
  store_be(small.data(), uint32_t{5000});
  EXPECT_EQ(inflate_body(small, {}, out), Refusal::kNone);
  EXPECT_EQ(inflate_body(Bytes(small).first(small.size() - 1), {}, out), Refusal::kGarbage);
  small.push_back(std::byte{0});
  EXPECT_EQ(inflate_body(small, {}, out), Refusal::kGarbage) << "and so is one with something behind it";
  EXPECT_EQ(inflate_body(Bytes(small).first(4), {}, out), Refusal::kTruncated);
}

}  // namespace
}  // namespace bellwether::wire
