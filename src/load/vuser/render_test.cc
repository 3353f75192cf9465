#include "load/vuser/render.h"

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>

namespace bellwether::vuser {
namespace {

plan::Piece literal(std::string text) {
  plan::Piece piece;
  piece.literal = std::move(text);
  return piece;
}

plan::Piece slot(plan::SlotId id, plan::Escape escape) {
  plan::Piece piece;
  piece.kind = plan::Piece::Kind::kSlot;
  piece.slot = id;
  piece.escape = escape;
  return piece;
}

plan::Piece builtin(plan::Builtin which, int64_t low = 0, int64_t high = 0) {
  plan::Piece piece;
  piece.kind = plan::Piece::Kind::kBuiltin;
  piece.builtin = which;
  piece.low = low;
  piece.high = high;
  return piece;
}

class Render : public testing::Test {
 protected:
  std::string text(const plan::Template& source) {
    std::string out;
    const RenderContext context{values_, 7, 3, WallTime{1'790'000'000'123'456'789}, prng_};
    rendered_ = render(source, context, out);
    return out;
  }
  Values values_{4};
  Prng prng_{1};
  bool rendered_ = false;
};

TEST_F(Render, literals_and_values_stand_side_by_side) {
  values_.set(1, "x y");
  EXPECT_EQ(text({{literal("a="), slot(1, plan::Escape::kNone), literal(";")}}), "a=x y;");
  EXPECT_TRUE(rendered_);
}

plan::Piece list(plan::Pick pick, std::vector<std::optional<std::string>> elements) {
  plan::Piece piece;
  piece.kind = plan::Piece::Kind::kList;
  piece.pick = pick;
  piece.list = std::make_shared<plan::GivenList>(plan::GivenList{"[all]", std::move(elements)});
  return piece;
}

TEST_F(Render, a_user_has_its_element_of_a_list_and_the_first_again_after_the_last) {
  EXPECT_EQ(text({{list(plan::Pick::kVu, {"1", "2", "3", "4", "5", "6", "7", "8"})}}), "7");
  EXPECT_EQ(text({{list(plan::Pick::kVu, {"1", "2", "3", "4"})}}), "3");
  EXPECT_EQ(text({{list(plan::Pick::kVu, {"1"})}}), "1");
  EXPECT_EQ(text({{list(plan::Pick::kWhole, {"1", "2"})}}), "[all]");
}

TEST_F(Render, any_element_of_a_list_comes_by_chance) {
  std::map<std::string, int> times;
  for (int i = 0; i < 3'000; ++i) ++times[text({{list(plan::Pick::kRandom, {"1", "2", "3"})}})];
  ASSERT_EQ(times.size(), 3u);
  for (const auto& [element, count] : times) EXPECT_GT(count, 800) << element;
}

TEST_F(Render, an_element_that_does_not_fit_its_place_is_not_sent) {
  text({{list(plan::Pick::kVu, {"1", "2", std::nullopt, "4"})}});
  EXPECT_FALSE(rendered_);
}

TEST_F(Render, a_value_is_escaped_for_where_it_stands) {
  values_.set(0, "a\"b\\c\n\x01/&");
  EXPECT_EQ(text({{slot(0, plan::Escape::kJson)}}), "a\\\"b\\\\c\\n\\u0001/&");
  EXPECT_EQ(text({{slot(0, plan::Escape::kUrl)}}), "a%22b%5Cc%0A%01%2F%26");
  EXPECT_EQ(text({{slot(0, plan::Escape::kFormName)}}), "a%22b\\c%0A\x01/&");
  EXPECT_EQ(text({{literal("http://h/"), slot(0, plan::Escape::kLink)}}), "http://h/a%22b%5Cc%0A%01/&");
}

TEST_F(Render, a_query_begins_behind_a_link_or_continues_its_query) {
  plan::Piece start;
  start.kind = plan::Piece::Kind::kQueryStart;
  for (const char* end : {"a", "a?b=c"}) {
    values_.set(0, end);
    const bool has_query = std::string_view(end).size() > 1;
    EXPECT_EQ(text({{literal("http://h/"), slot(0, plan::Escape::kLink), start, literal("n=1")}}),
              fmt::format("http://h/{}{}n=1", end, has_query ? "&" : "?"));
  }
}

TEST_F(Render, an_element_of_a_list_at_the_begin_of_a_url_is_a_link) {
  plan::Piece links = list(plan::Pick::kVu, {"http://far/a?b=c d"});
  links.escape = plan::Escape::kLink;
  EXPECT_EQ(text({{literal("http://h/"), links}}), "http://far/a?b=c%20d");
}

TEST_F(Render, a_missing_value_renders_nothing_and_says_so) {
  text({{literal("a"), slot(2, plan::Escape::kNone)}});
  EXPECT_FALSE(rendered_);
}

TEST_F(Render, a_header_value_cannot_smuggle_a_line_break) {
  values_.set(0, "ok");
  EXPECT_EQ(text({{slot(0, plan::Escape::kHeader)}}), "ok");
  values_.set(0, "x\r\nEvil: 1");
  text({{slot(0, plan::Escape::kHeader)}});
  EXPECT_FALSE(rendered_);
}

TEST_F(Render, a_value_with_its_type_is_JSON_or_nothing_is_sent) {
  for (const char* value : {"7", "-1.5e3", "true", "null", "{\"a\":1}", "[1,2]"}) {
    values_.set(0, value);
    EXPECT_EQ(text({{slot(0, plan::Escape::kJsonValue)}}), value);
    EXPECT_TRUE(rendered_);
  }
  for (const char* value : {"", "007", "seven", "\"a\"", "1,2", "1 "}) {
    values_.set(0, value);
    text({{slot(0, plan::Escape::kJsonValue)}});
    EXPECT_FALSE(rendered_) << value;
  }
  plan::Piece piece = builtin(plan::Builtin::kVu);
  piece.escape = plan::Escape::kJsonValue;
  EXPECT_EQ(text({{piece}}), "7");
  EXPECT_TRUE(rendered_);
  piece = builtin(plan::Builtin::kUuid);
  piece.escape = plan::Escape::kJsonValue;
  text({{piece}});
  EXPECT_FALSE(rendered_);
}

TEST_F(Render, builtins_tell_who_and_when) {
  EXPECT_EQ(text({{builtin(plan::Builtin::kVu), literal("/"), builtin(plan::Builtin::kIteration)}}), "7/3");
  EXPECT_EQ(text({{builtin(plan::Builtin::kNow)}}), "2026-09-21T14:13:20.123Z");
  EXPECT_EQ(text({{builtin(plan::Builtin::kNowMs)}}), "1790000000123");
}

TEST_F(Render, random_builtins_keep_their_form) {
  for (int i = 0; i < 200; ++i) {
    const std::string number = text({{builtin(plan::Builtin::kRandomInt, -3, 3)}});
    EXPECT_GE(std::stoi(number), -3);
    EXPECT_LE(std::stoi(number), 3);
  }
  const std::string uuid = text({{builtin(plan::Builtin::kUuid)}});
  ASSERT_EQ(uuid.size(), 36u);
  EXPECT_EQ(uuid[8], '-');
  EXPECT_EQ(uuid[13], '-');
  EXPECT_EQ(uuid[14], '4');
  EXPECT_EQ(uuid[18], '-');
  EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
  EXPECT_EQ(uuid[23], '-');
  EXPECT_NE(uuid, text({{builtin(plan::Builtin::kUuid)}}));
  EXPECT_EQ(text({{builtin(plan::Builtin::kRandomHex, 5)}}).size(), 10u);
}

TEST(Values, clearing_forgets_every_value) {
  Values values(2);
  values.set(0, "a");
  EXPECT_TRUE(values.has(0));
  EXPECT_FALSE(values.has(1));
  values.clear();
  EXPECT_FALSE(values.has(0));
}

}  // namespace
}  // namespace bellwether::vuser
