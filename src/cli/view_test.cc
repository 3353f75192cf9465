#include "cli/view.h"

#include <gtest/gtest.h>

namespace bellwether::cli {
namespace {

struct Fruit {
  std::string name;
  int weight_g = 0;
  std::optional<double> price;
};

Fields fields_of(const Fruit& one) {
  return {{"FRUIT", "name", one.name},
          {"WEIGHT", "weight_g", one.weight_g, std::to_string(one.weight_g) + " g"},
          {"PRICE", "price/euro", one.price},
          shown("", one.weight_g > 100 ? "heavy" : ""),
          told("edible", true)};
}

const std::vector<Fruit> kFruits{{"apple", 120, 0.5}, {"plum", 30, {}}};

Rows rows(const std::vector<Fruit>& fruits) { return {fruits, &fields_of}; }

TEST(View, people_and_programs_are_told_the_same_fields) {
  EXPECT_EQ(rows(kFruits).table(),
            "FRUIT  WEIGHT  PRICE\n"
            "apple  120 g   0.5    heavy\n"
            "plum   30 g    -\n");
  EXPECT_EQ(rows(kFruits).list().json(), R"([{"name":"apple","weight_g":120,"price":{"euro":0.5},"edible":true},)"
                                         R"({"name":"plum","weight_g":30,"price":{"euro":null},"edible":true}])");
}

TEST(View, a_table_without_rows_names_its_columns) {
  EXPECT_EQ(rows({}).table(), "FRUIT  WEIGHT  PRICE\n");
  EXPECT_EQ(rows({}).list().document(), "[]\n");
}

TEST(View, one_thing_is_a_line_for_each_field_that_says_something) {
  EXPECT_EQ(lines_of(fields_of(kFruits[0]), 8), "FRUIT   apple\nWEIGHT  120 g\nPRICE   0.5\n        heavy\n");
  EXPECT_EQ(lines_of({{"name", "name", ""}, {"a long name", "b", 1}}, 4), "a long name1\n");
}

TEST(View, a_document_is_indented) {
  EXPECT_EQ(object_of({told("a", 1), told("b/c", std::vector<std::string>{"x", "y"}), told("d", nullptr)}).document(),
            "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [\n      \"x\",\n      \"y\"\n    ]\n  },\n  \"d\": null\n}\n");
}

TEST(View, values_keep_what_they_are) {
  EXPECT_EQ(Value(UINT64_MAX).json(), "18446744073709551615");
  EXPECT_EQ(Value(-3).json(), "-3");
  EXPECT_EQ(Value(2.0).json(), "2.0");
  EXPECT_EQ(Value(true).json(), "true");
  EXPECT_EQ(Value(true).text(), "yes");
  EXPECT_EQ(Value("a \"b\"\n").json(), R"("a \"b\"\n")");
  EXPECT_EQ(Value("a \"b\"\n").text(), "a \"b\"\n");
  EXPECT_EQ(Value("\xff").json(), "\"\xef\xbf\xbd\"");  // no UTF-8: replaced
  EXPECT_EQ(Value(std::optional<int>()).json(), "null");
  EXPECT_EQ(Value::parsed("{\"a\": ").json(), "null");
}

TEST(View, a_table_is_made_of_members_of_json) {
  const Value list =
      Value::parsed(R"({"jobs": [{"job": "j1", "assignments": 3, "why": ""}, {"job": "j2"}]})").at("jobs");
  EXPECT_EQ(table_of(list, {{"JOB", "job"}, {"ASSIGNMENTS", "assignments"}, {"WHY", "why"}}),
            "JOB  ASSIGNMENTS  WHY\nj1   3\nj2   -            -\n");
  EXPECT_EQ(list.at("nothing").json(), "null");
}

TEST(Table, columns_are_as_wide_as_what_is_seen_of_them) {
  Table table({"NAME", "WHAT"});
  table.add({"äöü", "\x1b[31mred"});
  EXPECT_EQ(table.text(), "NAME  WHAT\näöü   ?[31mred\n");
}

}  // namespace
}  // namespace bellwether::cli
