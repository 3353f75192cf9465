#include "load/vuser/json_query.h"

#include <gmock/gmock.h>

#include "load/vuser/body_readers.h"

namespace bellwether::vuser {
namespace {

// The document of RFC 9535, section 1.5.
constexpr std::string_view kStore = R"({ "store": {
  "book": [
    { "category": "reference", "author": "Nigel Rees", "title": "Sayings of the Century", "price": 8.95 },
    { "category": "fiction", "author": "Evelyn Waugh", "title": "Sword of Honour", "price": 12.99 },
    { "category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "isbn": "0-553-21311-3",
      "price": 8.99 },
    { "category": "fiction", "author": "J. R. R. Tolkien", "title": "The Lord of the Rings", "isbn": "0-395-19395-8",
      "price": 22.99 }
  ],
  "bicycle": { "color": "red", "price": 399 }
} })";

class JsonQuerying : public testing::Test {
 protected:
  std::string_view padded(std::string_view text) {
    text_ = text;
    text_.resize(text.size() + JsonReader::kPadding, 'x');
    return std::string_view(text_).substr(0, text.size());
  }
  // The places of all values, in their order, in the normal form of the RFC but without quotes around names.
  std::string places(std::string_view document, std::string_view path) {
    const auto parsed = plan::parse_json_path(path);
    if (!parsed) return parsed.error().message;
    if (!queries_.open(padded(document))) return "no JSON";
    std::string out;
    for (std::size_t number = 0; number < 100; ++number) {
      const std::vector<JsonQueries::Step>& way = queries_.way_to(*parsed->many, number);
      if (way.empty()) return out;
      if (number > 0) out += ' ';
      for (const JsonQueries::Step& step : way) {
        out += '[' + (step.is_index ? std::to_string(step.index) : std::string(step.key)) + ']';
      }
    }
    return "too many";
  }
  // The text of the value that a path means.
  std::string first(std::string_view document, std::string_view path) {
    const auto parsed = plan::parse_json_path(path);
    if (!parsed) return parsed.error().message;
    std::string out;
    return reader_.open(padded(document)) && reader_.find_text(*parsed, out) ? out : "(none)";
  }
  // Which elements of an array a filter takes.
  std::string taken(std::string_view array, std::string_view filter) {
    return places(array, "$[?" + std::string(filter) + "]");
  }

  std::string text_;
  JsonQueries queries_;
  JsonReader reader_;
};

TEST_F(JsonQuerying, the_examples_of_the_standard_mean_what_it_says) {
  const auto books = [](std::string_view which) {
    std::string out;
    for (const char c : which) {
      out += (out.empty() ? "" : " ") + std::string("[store][book][") + c + "]";
    }
    return out;
  };
  EXPECT_EQ(places(kStore, "$.store.book[*].author"),
            "[store][book][0][author] [store][book][1][author] [store][book][2][author] [store][book][3][author]");
  EXPECT_EQ(places(kStore, "$..author"), places(kStore, "$.store.book[*].author"));
  EXPECT_EQ(places(kStore, "$.store.*"), "[store][book] [store][bicycle]");
  EXPECT_EQ(places(kStore, "$.store..price"),
            "[store][book][0][price] [store][book][1][price] [store][book][2][price] [store][book][3][price] "
            "[store][bicycle][price]");
  EXPECT_EQ(places(kStore, "$..book[2]"), books("2"));
  EXPECT_EQ(places(kStore, "$..book[2].author"), books("2") + "[author]");
  EXPECT_EQ(places(kStore, "$..book[2].publisher"), "");
  EXPECT_EQ(places(kStore, "$..book[-1]"), books("3"));
  EXPECT_EQ(places(kStore, "$..book[0,1]"), books("01"));
  EXPECT_EQ(places(kStore, "$..book[:2]"), books("01"));
  EXPECT_EQ(places(kStore, "$..book[?@.isbn]"), books("23"));
  EXPECT_EQ(places(kStore, "$..book[?@.price<10]"), books("02"));
  EXPECT_EQ(first(kStore, "$..book[?@.price < 10 && @.category == 'fiction'].title"), "Moby Dick");
  EXPECT_EQ(first(kStore, "$.store.bicycle.*"), "red");
}

TEST_F(JsonQuerying, wildcards_and_lists_give_children_in_order) {
  constexpr std::string_view kObject = R"({"o": {"j": 1, "k": 2}, "a": [5, 3]})";
  EXPECT_EQ(places(kObject, "$[*]"), "[o] [a]");
  EXPECT_EQ(places(kObject, "$.o[*]"), "[o][j] [o][k]");
  EXPECT_EQ(places(kObject, "$.o[*, *]"), "[o][j] [o][k] [o][j] [o][k]");
  EXPECT_EQ(places(kObject, "$.a[*]"), "[a][0] [a][1]");
  EXPECT_EQ(places(kObject, "$.a[1,0,1,7]"), "[a][1] [a][0] [a][1]");
  EXPECT_EQ(places(kObject, "$['a', 'x', 'o']"), "[a] [o]");
  EXPECT_EQ(places(R"(["x"])", "$[0].*"), "");
}

TEST_F(JsonQuerying, slices_follow_the_standard) {
  constexpr std::string_view kArray = R"(["a", "b", "c", "d", "e", "f", "g"])";
  EXPECT_EQ(places(kArray, "$[1:3]"), "[1] [2]");
  EXPECT_EQ(places(kArray, "$[5:]"), "[5] [6]");
  EXPECT_EQ(places(kArray, "$[1:5:2]"), "[1] [3]");
  EXPECT_EQ(places(kArray, "$[5:1:-2]"), "[5] [3]");
  EXPECT_EQ(places(kArray, "$[::-1]"), "[6] [5] [4] [3] [2] [1] [0]");
  EXPECT_EQ(places(kArray, "$[:]"), "[0] [1] [2] [3] [4] [5] [6]");
  EXPECT_EQ(places(kArray, "$[-2:]"), "[5] [6]");
  EXPECT_EQ(places(kArray, "$[:-5]"), "[0] [1]");
  EXPECT_EQ(places(kArray, "$[0:7:0]"), "");
  EXPECT_EQ(places(kArray, "$[3:1]"), "");
  EXPECT_EQ(places(kArray, "$[-100:100:3]"), "[0] [3] [6]");
  EXPECT_EQ(places(kArray, "$[100:-100:-3]"), "[6] [3] [0]");
  EXPECT_EQ(places(kArray, "$[6:9007199254740991:9007199254740991]"), "[6]");
  EXPECT_EQ(places(kArray, "$[0:-9007199254740991:-9007199254740991]"), "[0]");
  EXPECT_EQ(places(R"({"a": 1})", "$[:]"), "");
  EXPECT_EQ(places("[]", "$[::-1]"), "");
}

TEST_F(JsonQuerying, descendants_come_after_what_they_are_in) {
  constexpr std::string_view kDeep = R"({"o": {"j": 1, "k": 2}, "a": [5, 3, [{"j": 4}, {"k": 6}]]})";
  EXPECT_EQ(places(kDeep, "$..j"), "[o][j] [a][2][0][j]");
  EXPECT_EQ(places(kDeep, "$..[0]"), "[a][0] [a][2][0]");
  EXPECT_EQ(places(kDeep, "$.a..[0, 1]"), "[a][0] [a][1] [a][2][0] [a][2][1]");
  EXPECT_EQ(places(kDeep, "$..o"), "[o]");
  EXPECT_EQ(places(kDeep, "$.o..[*, *]"), "[o][j] [o][k] [o][j] [o][k]");
  EXPECT_EQ(places(R"({"a": {"a": {"a": 1}}})", "$..a"), "[a] [a][a] [a][a][a]");
  EXPECT_EQ(places(R"({"a": {"a": {"a": 1}}})", "$..a..a"), "[a][a] [a][a][a] [a][a][a]");
}

TEST_F(JsonQuerying, filters_ask_for_existence) {
  constexpr std::string_view kArray = R"([{"a": null}, {"b": 1}, {"a": {"b": []}}, 5, [1], {}])";
  EXPECT_EQ(taken(kArray, "@.a"), "[0] [2]");
  EXPECT_EQ(taken(kArray, "!@.a"), "[1] [3] [4] [5]");
  EXPECT_EQ(taken(kArray, "@.a || @.b"), "[0] [1] [2]");
  EXPECT_EQ(taken(kArray, "@.a && @.a.b"), "[2]");
  EXPECT_EQ(taken(kArray, "@.*"), "[0] [1] [2] [4]");
  EXPECT_EQ(taken(kArray, "@..b"), "[1] [2]");
  EXPECT_EQ(taken(kArray, "$[1].b"), "[0] [1] [2] [3] [4] [5]");
  EXPECT_EQ(taken(kArray, "$.x"), "");
  EXPECT_EQ(taken(kArray, "@"), "[0] [1] [2] [3] [4] [5]");
  EXPECT_EQ(places(R"({"x": {"a": 1}, "y": 2})", "$[?@.a]"), "[x]");
}

TEST_F(JsonQuerying, conditions_bind_as_in_the_standard) {
  constexpr std::string_view kArray = R"([{"a": 1}, {"b": 1}, {"a": 1, "b": 1}, {"a": 1, "c": 1}])";
  EXPECT_EQ(taken(kArray, "@.a && @.b || @.c"), "[2] [3]");
  EXPECT_EQ(taken(kArray, "@.a && (@.b || @.c)"), "[2] [3]");
  EXPECT_EQ(taken(kArray, "@.b || @.a && @.c"), "[1] [2] [3]");
  EXPECT_EQ(taken(kArray, "(@.b || @.a) && @.c"), "[3]");
  EXPECT_EQ(taken(kArray, "!(@.a && @.b)"), "[0] [1] [3]");
  EXPECT_EQ(taken(kArray, "!@.a && @.b"), "[1]");
}

TEST_F(JsonQuerying, values_compare_as_in_the_standard) {
  constexpr std::string_view kArray =
      R"([1, 2.0, -3, 1e0, "1", "a", "ab", true, false, null, [1], [1.0], {"x": 1, "y": [2]}, {"y": [2], "x": 1}, {}])";
  EXPECT_EQ(taken(kArray, "@ == 1"), "[0] [3]");
  EXPECT_EQ(taken(kArray, "@ == 2"), "[1]");
  EXPECT_EQ(taken(kArray, "@ < 2"), "[0] [2] [3]");
  EXPECT_EQ(taken(kArray, "@ <= 2"), "[0] [1] [2] [3]");
  EXPECT_EQ(taken(kArray, "@ >= 1"), "[0] [1] [3]");
  EXPECT_EQ(taken(kArray, "2 > @"), "[0] [2] [3]");
  EXPECT_EQ(taken(kArray, "@ == 'a'"), "[5]");
  EXPECT_EQ(taken(kArray, "@ > 'a'"), "[6]");
  EXPECT_EQ(taken(kArray, "@ < 'a'"), "[4]");
  EXPECT_EQ(taken(kArray, "@ == true"), "[7]");
  EXPECT_EQ(taken(kArray, "@ <= true"), "[7]");
  EXPECT_EQ(taken(kArray, "@ < true"), "");
  EXPECT_EQ(taken(kArray, "@ == null"), "[9]");
  EXPECT_EQ(taken(kArray, "@ == $[10]"), "[10] [11]");
  EXPECT_EQ(taken(kArray, "@ == $[12]"), "[12] [13]");
  EXPECT_EQ(taken(kArray, "@ == $[14]"), "[14]");
  EXPECT_EQ(taken(kArray, "@ < $[10]"), "");
  EXPECT_EQ(taken(kArray, "@ >= $[10]"), "[10] [11]");
  EXPECT_EQ(taken(kArray, "@ != 1 && @ != 2 && @ != true"), "[2] [4] [5] [6] [8] [9] [10] [11] [12] [13] [14]");
}

TEST_F(JsonQuerying, what_is_not_there_equals_only_what_is_not_there) {
  constexpr std::string_view kArray = R"([{"a": 1}, {"b": null}])";
  EXPECT_EQ(taken(kArray, "@.a == @.x"), "[1]");
  EXPECT_EQ(taken(kArray, "@.a <= @.x"), "[1]");
  EXPECT_EQ(taken(kArray, "@.a < @.x"), "");
  EXPECT_EQ(taken(kArray, "@.a != 1"), "[1]");
  EXPECT_EQ(taken(kArray, "@.b == null"), "[1]");
  EXPECT_EQ(taken(kArray, "@.x == null"), "");
}

TEST_F(JsonQuerying, functions_follow_the_standard) {
  constexpr std::string_view kArray =
      R"(["", "a", "äöü", "😀", [1, 2], {"a": 1, "b": 2, "c": 3}, 5, null, "1974-05-11", "x1974-05-1"])";
  EXPECT_EQ(taken(kArray, "length(@) == 0"), "[0]");
  EXPECT_EQ(taken(kArray, "length(@) == 1"), "[1] [3]");
  EXPECT_EQ(taken(kArray, "length(@) == 2"), "[4]");
  EXPECT_EQ(taken(kArray, "length(@) == 3"), "[2] [5]");
  EXPECT_EQ(taken(kArray, "length(@) == length(@.x)"), "[6] [7]");
  EXPECT_EQ(taken(kArray, "count(@.*) == 3"), "[5]");
  EXPECT_EQ(taken(kArray, "count(@['a','b','z']) > 1"), "[5]");
  EXPECT_EQ(taken(kArray, "value(@.*) == value(@.x)"), "[0] [1] [2] [3] [4] [5] [6] [7] [8] [9]");
  EXPECT_EQ(taken(R"([[3], [3, 4], {"k": 3}])", "value(@.*) == 3"), "[0] [2]");
  EXPECT_EQ(taken(kArray, "match(@, '1974-05-..')"), "[8]");
  EXPECT_EQ(taken(kArray, "search(@, '1974-05-.')"), "[8] [9]");
  EXPECT_EQ(taken(kArray, "match(@, '.')"), "[1] [3]");
  EXPECT_EQ(taken(kArray, "match(@, 1)"), "");
  EXPECT_EQ(taken(R"(["a\nb", "a\rb", "a.b", "axb"])", "match(@, 'a.b')"), "[2] [3]");
  EXPECT_EQ(taken(R"(["a.b", "axb"])", "match(@, 'a\\\\.b')"), "[0]");
  EXPECT_EQ(taken(R"(["a.b", "axb"])", "match(@, 'a[.]b')"), "[0]");
  EXPECT_EQ(places(R"({"p": "b.", "v": ["ba", "cb", "b"]})", "$.v[?match(@, $.p)]"), "[v][0]");
  EXPECT_EQ(places(R"({"p": "(", "v": ["("]})", "$.v[?match(@, $.p)]"), "");
}

TEST_F(JsonQuerying, members_with_escapes_are_found_by_their_names) {
  constexpr std::string_view kDocument = R"({"\u0061": 1, "q\"": {"\\": 2}, "\u263a": [3], "n\n": 4, "plain": 5})";
  EXPECT_EQ(first(kDocument, "$.a"), "1");
  EXPECT_EQ(first(kDocument, R"($["q\""]["\\"])"), "2");
  EXPECT_EQ(first(kDocument, "$.☺[0]"), "3");
  EXPECT_EQ(first(kDocument, R"($["\u263a"][-1])"), "3");
  EXPECT_EQ(first(kDocument, R"($['n\n'])"), "4");
  EXPECT_EQ(first(kDocument, "$.plain"), "5");
  EXPECT_EQ(first(kDocument, "$.b"), "(none)");
  EXPECT_EQ(first(kDocument, R"($..["\\"])"), "2");
  EXPECT_EQ(first(R"({"a\"": 1, "a": 2})", "$.a"), "2");
  EXPECT_EQ(first(R"({"a": 2})", R"($['a"'])"), "(none)");
}

TEST_F(JsonQuerying, the_first_value_is_given_as_it_stands) {
  EXPECT_EQ(first(R"({"a": [{"n": 1.50, "o": {"x" : [ ]}}]})", "$..n"), "1.50");
  EXPECT_EQ(first(R"({"a": [{"n": 1.50, "o": {"x" : [ ]}}]})", "$.a[*].o"), R"({"x" : [ ]})");
  EXPECT_EQ(first(R"([{"s": "a\u0062"}])", "$[*]['s']"), "ab");
  EXPECT_EQ(first("[]", "$[*]"), "(none)");
  EXPECT_EQ(first("[1", "$[*]"), "(none)");
  EXPECT_EQ(first("[1, x]", "$[*]"), "(none)") << "such a path needs a valid document";
  EXPECT_EQ(first("[1, x]", "$[0]"), "1") << "a path of one value reads only up to it";
}

TEST_F(JsonQuerying, valid_means_all_of_the_document) {
  const auto valid = [this](std::string_view text) {
    reader_.open(padded(text));
    return reader_.valid();
  };
  for (const char* text :
       {"{}", "[]", "1", "-0.5E+3", "\"a\"", "null", " [1, {\"a\": [true]}] ", "\"\\ud83d\\ude00\""}) {
    EXPECT_TRUE(valid(text)) << text;
  }
  for (const char* text :
       {"",    " ",    "{",     "[1,]", "{\"a\": 1,}", "[1 2]",   "{'a': 1}",  "01",     "1.",       "+1",
        "nul", "[1]]", "[1] x", "\"a",  "\"\t\"",      "\"\\x\"", "{\"a\" 1}", "{1: 2}", "\"\xff\"", "NaN"}) {
    EXPECT_FALSE(valid(text)) << text;
  }
}

TEST_F(JsonQuerying, all_values_are_counted_and_listed) {
  ASSERT_TRUE(queries_.open(padded(kStore)));
  std::string out;
  const auto many = [](const char* path) { return *plan::parse_json_path(path)->many; };
  EXPECT_EQ(queries_.count(many("$..price")), 5u);
  EXPECT_TRUE(queries_.list(many("$..price"), out));
  EXPECT_EQ(out, "[8.95,12.99,8.99,22.99,399]");
  EXPECT_TRUE(queries_.list(many("$..bicycle"), out));
  EXPECT_EQ(out, R"([{"color":"red","price":399}])");
  EXPECT_TRUE(queries_.list(many("$..none"), out));
  EXPECT_EQ(out, "[]");
  EXPECT_EQ(queries_.count(many("$..none")), 0u);
}

TEST_F(JsonQuerying, a_list_has_an_end) {
  // Each of a thousand levels holds all levels below it, and a long text at the bottom.
  std::string deep = '"' + std::string(100'000, 'x') + '"';
  for (int i = 0; i < 1'000; ++i) deep = "[" + deep + "]";
  ASSERT_TRUE(queries_.open(padded(deep)));
  std::string out;
  EXPECT_FALSE(queries_.list(*plan::parse_json_path("$..*")->many, out));
  EXPECT_LT(out.size(), JsonQueries::kMaxListBytes + 200'000);
  EXPECT_EQ(queries_.count(*plan::parse_json_path("$..*")->many), 1'000u);
}

// Each filter begins again at the root, and goes on only at the bottom of the document.
TEST_F(JsonQuerying, filters_within_filters_go_only_so_deep) {
  std::string document = R"({"x": 1})";
  for (int i = 0; i < 1'000; ++i) document = R"({"a":)" + document + "}";
  const auto nested = [](int filters) {
    std::string path = "1 == 1";
    for (int i = 0; i < filters; ++i) path = "@.x && $..[?" + path + "]";
    return "$..[?" + path + "]";
  };
  ASSERT_TRUE(plan::parse_json_path(nested(30)));
  ASSERT_TRUE(queries_.open(padded(document)));
  EXPECT_EQ(queries_.count(*plan::parse_json_path(nested(1))->many), 1u);
  EXPECT_EQ(queries_.count(*plan::parse_json_path(nested(30))->many), std::nullopt);
}

TEST_F(JsonQuerying, a_search_without_end_gives_nothing) {
  std::string deep = "1";
  for (int i = 0; i < 200; ++i) deep = "[" + deep + ",1]";
  const std::string document = "[" + deep + R"(, [[[[{"x": 1}]]]]])";
  EXPECT_EQ(places(document, "$..x"), "[1][0][0][0][0][x]");
  EXPECT_EQ(places(document, "$..[*]..[*]..[*]..[*]..x"), "") << "it would be found after all the others";
}

}  // namespace
}  // namespace bellwether::vuser
