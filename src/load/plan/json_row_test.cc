#include <gmock/gmock.h>
#include <optional>

#include "load/plan/json_path.h"
#include "load/plan/rows.h"

namespace bellwether::plan {
namespace {

using testing::ElementsAre;

std::optional<std::string> find(std::string_view text, std::string_view path) {
  std::string out;
  if (!find_json(text, *parse_json_path(path), out)) return std::nullopt;
  return out;
}

// What is wrong, and where.
std::string wrong(std::string_view text) {
  std::size_t at = 0;
  const char* what = skip_json(text, at);
  return what == nullptr ? "" : std::to_string(at) + " " + what;
}

TEST(JsonRow, a_value_is_found_by_its_path) {
  constexpr std::string_view kRow = R"( {"a": "x", "b": {"c": [1, 2.50, {"d": null}]}, "e\u0041": true} rest)";
  EXPECT_EQ(find(kRow, "$.a"), "x");
  EXPECT_EQ(find(kRow, "$.b.c[1]"), "2.50");
  EXPECT_EQ(find(kRow, "$.b.c[-3]"), "1");
  EXPECT_EQ(find(kRow, "$.b.c[2].d"), "null");
  EXPECT_EQ(find(kRow, "$.b.c[-1]"), R"({"d": null})");
  EXPECT_EQ(find(kRow, "$.eA"), "true");
  EXPECT_EQ(find(kRow, "$.b.c[3]"), std::nullopt);
  EXPECT_EQ(find(kRow, "$.b.c[-4]"), std::nullopt);
  EXPECT_EQ(find(kRow, "$.b[0]"), std::nullopt);
  EXPECT_EQ(find(kRow, "$.a.b"), std::nullopt);
  EXPECT_EQ(find(kRow, "$.z"), std::nullopt);
  EXPECT_EQ(find(R"({"a": [], "b": {}})", "$.a[0]"), std::nullopt);
  EXPECT_EQ(find(R"({"a": [], "b": {}})", "$.b.c"), std::nullopt);
}

TEST(JsonRow, texts_lose_their_escapes) {
  EXPECT_EQ(find(R"(["\"\\\/\b\f\n\r\t"])", "$[0]"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(find(R"(["\u00e9\u20AC\ud83d\ude00"])", "$[0]"), "é€😀");
  EXPECT_EQ(find(R"(["\ud83d!", "\ude00"])", "$[0]"), "\xEF\xBF\xBD!");
  EXPECT_EQ(find(R"(["\ud83d!", "\ude00"])", "$[1]"), "\xEF\xBF\xBD");
}

TEST(JsonRow, what_is_no_json_is_said_with_its_place) {
  for (const char* good : {"{}", "[]", "-0.5e+3", "0", "\"\"", "[1,[2,{\"a\":[]}]]", "null", "{ \"a\" : 1 }"}) {
    EXPECT_EQ(wrong(good), "") << good;
  }
  EXPECT_EQ(wrong("{a: 1}"), "1 the name of a member is expected, in quotes");
  EXPECT_EQ(wrong("{\"a\" 1}"), "5 ':' is expected");
  EXPECT_EQ(wrong("{\"a\": 1,}"), "8 the name of a member is expected, in quotes");
  EXPECT_EQ(wrong("[1 2]"), "3 ',' or ']' is expected");
  EXPECT_EQ(wrong("[1"), "2 ',' or ']' is expected");
  EXPECT_EQ(wrong("[1,]"), "3 a value is expected");
  EXPECT_EQ(wrong("01"), "0 a number does not begin with 0");
  EXPECT_EQ(wrong("1."), "2 a digit is expected");
  EXPECT_EQ(wrong("-"), "1 a digit is expected");
  EXPECT_EQ(wrong("nul"), "0 a value is expected");
  EXPECT_EQ(wrong("\"a"), "2 a text is not closed");
  EXPECT_EQ(wrong("\"\\x\""), "2 this is nothing that can come after \\ in a text");
  EXPECT_EQ(wrong("\"\\u12g4\""), "2 \\u is followed by four hexadecimal digits");
  EXPECT_EQ(wrong("\"a\nb\""), "2 a control character in a text: write it as \\u00XX");
  EXPECT_EQ(wrong(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_EQ(wrong(std::string(65, '[') + std::string(65, ']')), "65 nested more than 64 levels deep");
}

TEST(JsonRow, its_members_have_names) {
  EXPECT_THAT(members_of(R"({"a": {"x": 1}, "b\"": 2, "c": 3})", 10), ElementsAre("a", "b\"", "c"));
  EXPECT_THAT(members_of(R"({"a": 1, "b": 2})", 1), ElementsAre("a"));
  EXPECT_THAT(members_of("{}", 10), ElementsAre());
}

}  // namespace
}  // namespace bellwether::plan
