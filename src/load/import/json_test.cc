#include <gtest/gtest.h>

#include "load/import/request.h"

namespace bellwether::imports {
namespace {

std::string error_of(std::string_view text) {
  yaml::Diagnostics diagnostics("a.json");
  const auto tree = parse_json(text, diagnostics);
  EXPECT_EQ(tree.has_value(), diagnostics.empty());
  const auto list = diagnostics.take();
  return list.empty() ? std::string() : yaml::format(list.front());
}

TEST(Json, values_keep_their_kind_text_and_place) {
  yaml::Diagnostics diagnostics("a.json");
  const auto tree = parse_json("{\"a\": [1.50, \"x\\n\\u00e9\", true, null],\n \"b\": {}}", diagnostics);
  ASSERT_TRUE(tree && tree->is_map());
  const Node* const list = find(&*tree, "a");
  ASSERT_TRUE(list != nullptr && list->items.size() == 4);
  EXPECT_EQ(list->items[0].text, "1.50");
  EXPECT_FALSE(list->items[0].is_quoted);
  EXPECT_EQ(list->items[1].text, "x\n\xC3\xA9");
  EXPECT_TRUE(list->items[1].is_quoted);
  EXPECT_EQ(list->items[1].mark.column, 14);
  EXPECT_EQ(list->items[2].text, "true");
  EXPECT_TRUE(list->items[3].is_null());
  EXPECT_EQ(find(&*tree, "b")->key_mark.line, 2);
  EXPECT_EQ(find(&*tree, "b")->key_mark.column, 2);
  EXPECT_EQ(find(&*tree, "c"), nullptr);
}

TEST(Json, a_member_can_be_left_out) {
  yaml::Diagnostics diagnostics("a.json");
  const auto tree =
      parse_json(R"({"content": {"text": [1], "size": 2}, "text": "3"})", diagnostics,
                 [](std::string_view parent, std::string_view key) { return parent == "content" && key == "text"; });
  ASSERT_TRUE(tree);
  EXPECT_EQ(find(find(&*tree, "content"), "text"), nullptr);
  EXPECT_EQ(text_at(find(&*tree, "content"), "size"), "2");
  EXPECT_EQ(text_at(&*tree, "text"), "3");
}

TEST(Json, errors_have_their_place) {
  EXPECT_EQ(error_of("{\n \"a\": 01}").substr(0, 12), "a.json:2:7: ");
  EXPECT_EQ(error_of("{\n \"a\": \"x}").substr(0, 12), "a.json:2:7: ");
  EXPECT_EQ(error_of("{}\n\"\xff\"").substr(0, 12), "a.json:2:1: ");
  EXPECT_NE(error_of("{\"a\": nul}"), "");
  EXPECT_NE(error_of("{\"a\": tru}"), "");
  EXPECT_NE(error_of("{\"a\": 1"), "");
  EXPECT_NE(error_of("{} {}"), "");
  EXPECT_NE(error_of("7"), "");
  EXPECT_NE(error_of(""), "");
  EXPECT_NE(error_of(std::string(100, '[') + std::string(100, ']')).find("more than 64 levels"), std::string::npos);
}

}  // namespace
}  // namespace bellwether::imports
