#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>

#include "core/http1/head.h"

namespace bellwether::http1 {
namespace {

std::size_t head_end(std::string_view input) {
  std::size_t scan_from = 0;
  return find_head_end(input, scan_from);
}

TEST(HeadFields, the_end_of_a_head_is_its_first_empty_line) {
  EXPECT_EQ(head_end("a\r\n\r\nrest"), 5U);
  EXPECT_EQ(head_end("a\n\nrest"), 3U);
  EXPECT_EQ(head_end("a\n\r\nrest"), 4U);
  EXPECT_EQ(head_end("a\r\nb\r\n"), 0U);
  EXPECT_EQ(head_end("a\r\n\r"), 0U);
  EXPECT_EQ(head_end("a\r\n\rb\n\n"), 7U);
  EXPECT_EQ(head_end(""), 0U);
}

RC_GTEST_PROP(HeadFields, looking_on_finds_the_same_end_as_looking_once, ()) {
  const auto input = *rc::gen::container<std::string>(rc::gen::element('\r', '\n', 'a'));
  const std::size_t whole = head_end(input);
  std::size_t scan_from = 0;
  std::size_t found = 0;
  std::size_t size = 0;
  while (found == 0 && size < input.size()) {
    size = std::min(input.size(), size + *rc::gen::inRange<std::size_t>(1, 4));
    found = find_head_end(std::string_view(input).substr(0, size), scan_from);
  }
  RC_ASSERT(found == whole);
}

TEST(HeadFields, every_character_is_judged_wherever_it_stands_in_a_name) {
  for (std::size_t size = 1; size <= 20; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int c = 0; c < 256; ++c) {
        std::string line(size, 'x');
        line[at] = static_cast<char>(c);
        line += ": value of some length";
        Field field;
        const char* reason = "";
        const bool good = split_field(line, field, reason);
        const bool ends_early = c == ':' && at > 0;
        ASSERT_EQ(good, is_token_char(static_cast<char>(c)) || ends_early) << size << ' ' << at << ' ' << c;
        if (good) ASSERT_EQ(field.name.size(), ends_early ? at : size);
      }
    }
  }
}

TEST(HeadFields, smuggling_bytes_are_found_wherever_they_stand) {
  EXPECT_TRUE(rc::check([] {
    const auto body =
        *rc::gen::container<std::string>(rc::gen::weightedElement<char>({{20, 'a'}, {1, '\r'}, {1, '\0'}, {3, '\n'}}));
    const std::string head = body + "\r\n";
    bool wrong = false;
    for (std::size_t i = 0; i < head.size(); ++i) {
      wrong |= head[i] == '\0' || (head[i] == '\r' && (i + 1 == head.size() || head[i + 1] != '\n'));
    }
    RC_ASSERT(has_smuggling_bytes(head) == wrong);
  }));
  for (std::size_t at = 0; at < 70; ++at) {
    std::string head(70, 'a');
    head += "\r\n";
    EXPECT_FALSE(has_smuggling_bytes(head));
    head[at] = '\0';
    EXPECT_TRUE(has_smuggling_bytes(head)) << at;
    head[at] = '\r';
    EXPECT_TRUE(has_smuggling_bytes(head)) << at;
  }
}

TEST(HeadFields, names_are_told_apart_whatever_their_case) {
  EXPECT_TRUE(is_field("Content-Length", "content-length"));
  EXPECT_TRUE(is_field("CONTENT-LENGTH", "content-length"));
  EXPECT_FALSE(is_field("content-lengt", "content-length"));
  EXPECT_FALSE(is_field("content_length", "content-length"));
}

TEST(HeadFields, lists_are_looked_through_item_by_item) {
  EXPECT_TRUE(list_has("a, Close ,b", "close"));
  EXPECT_TRUE(list_has("close", "close"));
  EXPECT_TRUE(list_has(",,close", "close"));
  EXPECT_FALSE(list_has("closed, un close", "close"));
  EXPECT_FALSE(list_has("", "close"));
  EXPECT_FALSE(list_has(",", "close"));
}

TEST(HeadFields, a_field_is_a_name_and_a_trimmed_value) {
  Field field;
  const char* reason = "";
  ASSERT_TRUE(split_field("Name: \t a: b \t", field, reason));
  EXPECT_EQ(field.name, "Name");
  EXPECT_EQ(field.value, "a: b");
  ASSERT_TRUE(split_field("Name:", field, reason));
  EXPECT_EQ(field.value, "");
  for (const char* line : {"", ":", ": x", "Name", "Na me: x", "Name : x", " Name: x", "N\"me: x"}) {
    EXPECT_FALSE(split_field(line, field, reason)) << line;
  }
}

}  // namespace
}  // namespace bellwether::http1
