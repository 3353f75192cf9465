#include <gtest/gtest.h>

#include "load/vuser/body_readers.h"

namespace bellwether::vuser {
namespace {

plan::JsonPath path(std::initializer_list<std::variant<const char*, int>> steps) {
  plan::JsonPath made;
  for (const auto& step : steps) {
    plan::JsonPath::Step one;
    if (const int* index = std::get_if<int>(&step)) {
      one.is_index = true;
      one.index = *index;
    } else {
      one.key = std::get<const char*>(step);
    }
    made.steps.push_back(one);
  }
  return made;
}

class JsonReading : public testing::Test {
 protected:
  bool open(const std::string& text) {
    text_ = text;
    const std::size_t size = text_.size();
    text_.resize(size + JsonReader::kPadding, 'x');  // what follows the body must not matter
    return reader_.open({text_.data(), size});
  }
  std::string text_at(const plan::JsonPath& where) {
    std::string out;
    return reader_.find_text(where, out) ? out : "(none)";
  }
  std::string text_;
  JsonReader reader_;
};

TEST_F(JsonReading, values_are_found_by_names_and_indices) {
  ASSERT_TRUE(open(R"({"a": {"b": [10, {"c": "deep"}]}, "d": true, "e": null, "f": 1.5})"));
  EXPECT_EQ(text_at(path({"a", "b", 1, "c"})), "deep");
  EXPECT_EQ(text_at(path({"a", "b", 0})), "10");
  EXPECT_EQ(text_at(path({"a", "b", -1, "c"})), "deep");
  EXPECT_EQ(text_at(path({"d"})), "true");
  EXPECT_EQ(text_at(path({"e"})), "null");
  EXPECT_EQ(text_at(path({"f"})), "1.5");
}

TEST_F(JsonReading, what_is_not_there_is_not_found) {
  ASSERT_TRUE(open(R"([{"id": 1}])"));
  EXPECT_EQ(text_at(path({0, "id"})), "1");
  EXPECT_EQ(text_at(path({0, "name"})), "(none)");
  EXPECT_EQ(text_at(path({1})), "(none)");
  EXPECT_EQ(text_at(path({-2})), "(none)");
  EXPECT_EQ(text_at(path({"id"})), "(none)");
}

TEST_F(JsonReading, order_of_questions_does_not_matter) {
  ASSERT_TRUE(open(R"({"first": 1, "second": 2})"));
  EXPECT_EQ(text_at(path({"second"})), "2");
  EXPECT_EQ(text_at(path({"first"})), "1");
  EXPECT_EQ(text_at(path({"second"})), "2");
}

TEST_F(JsonReading, objects_and_arrays_are_given_as_they_stand) {
  ASSERT_TRUE(open(R"({"o": {"x": [1,2]}, "z": 0})"));
  EXPECT_EQ(text_at(path({"o"})), R"({"x": [1,2]})");
  EXPECT_TRUE(std::holds_alternative<JsonReader::Compound>(reader_.find(path({"o"}))));
}

TEST_F(JsonReading, the_whole_document_can_be_asked_for) {
  ASSERT_TRUE(open("42"));
  EXPECT_EQ(text_at(path({})), "42");
  ASSERT_TRUE(open("\"s\""));
  EXPECT_EQ(text_at(path({})), "s");
}

TEST_F(JsonReading, types_are_told_apart) {
  ASSERT_TRUE(open(R"({"s": "1", "n": 1, "b": false, "z": null})"));
  EXPECT_EQ(std::get<std::string_view>(reader_.find(path({"s"}))), "1");
  EXPECT_EQ(std::get<double>(reader_.find(path({"n"}))), 1.0);
  EXPECT_FALSE(std::get<bool>(reader_.find(path({"b"}))));
  EXPECT_TRUE(std::holds_alternative<JsonReader::Null>(reader_.find(path({"z"}))));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(reader_.find(path({"q"}))));
}

TEST_F(JsonReading, what_is_no_json_gives_nothing) {
  for (const char* text : {"", "<html>", "{\"a\": ", "{\"a\" 1}", "[1,"}) {
    open(text);
    EXPECT_EQ(text_at(path({"a"})), "(none)") << text;
  }
}

TEST_F(JsonReading, escapes_are_resolved_in_text) {
  ASSERT_TRUE(open(R"({"t": "a\nbé\"c"})"));
  EXPECT_EQ(text_at(path({"t"})), "a\nb\xc3\xa9\"c");
}

}  // namespace
}  // namespace bellwether::vuser
