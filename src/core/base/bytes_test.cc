#include "core/base/bytes.h"

#include <array>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <string>

#include "core/base/encoding.h"

namespace bellwether {
namespace {

TEST(Bytes, text_and_bytes_are_views_of_the_same) {
  const std::string text = "abc";
  EXPECT_EQ(as_bytes(text).size(), 3U);
  EXPECT_EQ(as_text(as_bytes(text)).data(), text.data());
}

TEST(Bytes, only_ascii_letters_have_a_case) {
  EXPECT_TRUE(iequals("Content-Type", "cONTENT-tYPE"));
  EXPECT_FALSE(iequals("a", "ab"));
  EXPECT_FALSE(iequals("[", "{"));
  EXPECT_FALSE(iequals("\xc3\x84", "\xc3\xa4"));
  EXPECT_TRUE(iequals("", ""));
  for (int c = 0; c < 256; ++c) {
    const char lower = ascii_lower(static_cast<char>(c));
    EXPECT_EQ(lower != static_cast<char>(c), c >= 'A' && c <= 'Z') << c;
  }
  EXPECT_EQ(lower_case("A[\xc3\x84Z"), "a[\xc3\x84z");
}

TEST(Bytes, a_word_has_only_ascii_letters_digits_and_the_given_marks) {
  std::string found;
  for (int c = 0; c < 256; ++c) {
    if (is_word_of(std::string(1, static_cast<char>(c)), "_-")) found += static_cast<char>(c);
  }
  EXPECT_EQ(found, "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz");
  EXPECT_FALSE(is_word_of("", "_-"));
  EXPECT_FALSE(is_word_of("ab c", "_-"));
  EXPECT_TRUE(is_word_of("abc", {}, 3));
  EXPECT_FALSE(is_word_of("abcd", {}, 3));
}

TEST(Bytes, trim_takes_blanks_off_both_ends) {
  EXPECT_EQ(trim(" \t a b \t"), "a b");
  EXPECT_EQ(trim(" \t"), "");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim("\na\n"), "\na\n");
}

TEST(Bytes, take_until_ends_with_the_last_piece) {
  std::string_view rest = "a,,b";
  EXPECT_EQ(take_until(rest, ','), "a");
  EXPECT_EQ(rest, ",b");
  EXPECT_EQ(take_until(rest, ','), "");
  EXPECT_EQ(take_until(rest, ','), "b");
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(take_until(rest, ','), "");
  rest = "a,";
  EXPECT_EQ(take_until(rest, ','), "a");
  EXPECT_TRUE(rest.empty());
}

TEST(Bytes, a_number_fills_the_whole_text_and_fits) {
  EXPECT_EQ(parse_u64("0"), 0U);
  EXPECT_EQ(parse_u64("007"), 7U);
  EXPECT_EQ(parse_u64("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "0x1", "1.0", "18446744073709551616", "1,000", "one"}) {
    EXPECT_FALSE(parse_u64(text)) << text;
  }
  EXPECT_TRUE(rc::check([](uint64_t value) { RC_ASSERT(parse_u64(std::to_string(value)) == value); }));
}

TEST(Bytes, a_decimal_fills_the_whole_text) {
  EXPECT_EQ(parse_double("1.5"), 1.5);
  EXPECT_EQ(parse_double("-2e3"), -2000.0);
  for (const char* text : {"", " 1", "1 ", "1.5x", "x", "1e999", "0x10", "+1"})
    EXPECT_FALSE(parse_double(text)) << text;
}

TEST(Bytes, the_nearest_word_is_a_likely_slip) {
  constexpr std::array<std::string_view, 4> kWords{"duration", "iterations", "vus", "target"};
  EXPECT_EQ(nearest("duraton", kWords), "duration");
  EXPECT_EQ(nearest("Durations", kWords), "duration");
  EXPECT_EQ(nearest("iteration", kWords), "iterations");
  EXPECT_EQ(nearest("vu", kWords), "vus");
  EXPECT_EQ(nearest("something else", kWords), "");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest("vsu", kWords), "vus") << "two letters that changed places are one slip";
  EXPECT_EQ(nearest("stall", std::array<std::string_view, 2>{"tls", "tail"}), "") << "another word";
  EXPECT_EQ(nearest("v", kWords), "") << "one letter says too little";
}

}  // namespace
}  // namespace bellwether
