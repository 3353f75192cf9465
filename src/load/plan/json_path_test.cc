#include "load/plan/json_path.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace bellwether::plan {
namespace {

using testing::HasSubstr;

// The path of one value, as RFC 9535 writes it in its normal form; "many"; or the error.
std::string read_path(std::string_view text) {
  const auto path = parse_json_path(text);
  if (!path) return path.error().message;
  EXPECT_EQ(path->text, text);
  if (path->many != nullptr) return "many";
  std::string out = "$";
  for (const JsonPath::Step& step : path->steps) {
    out += step.is_index ? "[" + std::to_string(step.index) + "]" : "['" + step.key + "']";
  }
  return out;
}

TEST(JsonPath, of_one_value_it_is_a_way_of_names_and_indices) {
  EXPECT_EQ(read_path("$"), "$");
  EXPECT_EQ(read_path("$.a.b1._c"), "$['a']['b1']['_c']");
  EXPECT_EQ(read_path("$['a'][\"b\"][0][-1]"), "$['a']['b'][0][-1]");
  EXPECT_EQ(read_path("$.☺.ünïcode"), "$['☺']['ünïcode']");
  EXPECT_EQ(read_path("$['a-b']['']['0']"), "$['a-b']['']['0']");
  EXPECT_EQ(read_path("$[9007199254740991]"), "$[9007199254740991]");
}

TEST(JsonPath, blanks_may_stand_between_its_parts) {
  EXPECT_EQ(read_path("$ .a\n[ 'b' ]\t[ 0\r]"), "$['a']['b'][0]");
  EXPECT_EQ(read_path("$ ['a' , 'b']"), "many");
  EXPECT_EQ(read_path("$[ 1 : 2 : 3 ]"), "many");
  EXPECT_EQ(read_path("$ ..a"), "many");
}

TEST(JsonPath, names_in_quotes_have_the_escapes_of_json) {
  EXPECT_EQ(read_path(R"($['\u263a'])"), "$['☺']");
  EXPECT_EQ(read_path(R"($["\uD83D\uDE00"])"), "$['😀']");
  EXPECT_EQ(read_path(R"($["\/\\\b\f\n\r\t"])"), "$['/\\\b\f\n\r\t']");
  EXPECT_EQ(read_path(R"($["a'\""])"), "$['a'\"']");
  EXPECT_EQ(read_path(R"($['a"\''])"), "$['a\"'']");
  EXPECT_EQ(read_path(R"($["\u0041\u00e9"])"), "$['Aé']");
  EXPECT_TRUE(parse_json_path(R"($["\""])")->has_escapes);
  EXPECT_TRUE(parse_json_path(R"($["\n"])")->has_escapes);
  EXPECT_FALSE(parse_json_path(R"($["\u263a"])")->has_escapes);
}

TEST(JsonPath, whatever_may_name_several_values_is_told_from_the_rest) {
  for (const char* text : {"$.*",
                           "$[*]",
                           "$..a",
                           "$..*",
                           "$..[0]",
                           "$['a','b']",
                           "$[0,0]",
                           "$[:]",
                           "$[::]",
                           "$[1:]",
                           "$[:-1]",
                           "$[::-2]",
                           "$[0:1]",
                           "$[?@.a]",
                           "$[? @.a == 1 ]",
                           "$[?(@.a)]",
                           "$[?!@.a]",
                           "$[?!(@.a == 1)]",
                           "$[?@.a && @.b || @.c]",
                           "$[?@ == 'x']",
                           "$[?$.a[0] > @[-1]]",
                           "$[?1 == 1]",
                           "$[?'a' != \"b\"]",
                           "$[?@.a == -0]",
                           "$[?@.a >= 1.5e-3]",
                           "$[?true == @.a]",
                           "$[?@.a == null]",
                           "$[?length(@.a) < 3]",
                           "$[?count(@.*) > 1]",
                           "$[?value(@..a) == 1]",
                           "$[?match(@.a, 'x.*')]",
                           "$[?!search( @.a , $.pattern )]",
                           "$[?length(value($..a)) == 1]",
                           "$[?@]",
                           "$[?@.*]",
                           "$[?@['a']==1]",
                           "$[?@ ['a'] [0] ==1]",
                           "$[?@.a,0]",
                           "$[?@[?@.b]]",
                           "$[?((@.a))]"}) {
    EXPECT_EQ(read_path(text), "many") << text;
  }
}

TEST(JsonPath, what_is_not_understood_is_refused) {
  for (const char* text : {"",
                           "a",
                           " $",
                           "$ ",
                           "$.",
                           "$..",
                           "$. a",
                           "$.. a",
                           "$.&",
                           "$.a-b",
                           "$.0",
                           "$.1a",
                           "$.a$",
                           "$a",
                           "$.'a'",
                           "$.\"a\"",
                           "$.-",
                           "$.[0]",
                           "$...a",
                           "$[",
                           "$[]",
                           "$[ ]",
                           "$['a'",
                           "$['a]",
                           "$[a]",
                           "$[01]",
                           "$[-0]",
                           "$[-]",
                           "$[- 1]",
                           "$[1.0]",
                           "$[1e2]",
                           "$[+1]",
                           "$[0,]",
                           "$[,0]",
                           "$['a' 'b']",
                           "$['a'.'b']",
                           "$[**]",
                           "$.*a",
                           "$[1:2:3:4]",
                           "$[1:a]",
                           "$[:01]",
                           "$[::-0]",
                           "$[9007199254740992]",
                           "$[-9007199254740992]",
                           "$[99999999999999999999:]",
                           "$['\\x']",
                           "$['\\\"']",
                           "$[\"\\'\"]",
                           "$['\\u12']",
                           "$['\\u123g']",
                           "$['\\ud83d']",
                           "$['\\ude00']",
                           "$['\\ud83d\\u0041']",
                           "$['\\U263a']",
                           "$['a\nb']",
                           "$['\\0']",
                           "$['\\"}) {
    EXPECT_FALSE(parse_json_path(text)) << text;
  }
}

TEST(JsonPath, filters_that_mean_nothing_are_refused) {
  for (const char* text : {"$[?]",
                           "$[?()]",
                           "$[?@.a ==]",
                           "$[?== 1]",
                           "$[?@.a = 1]",
                           "$[?@.a === 1]",
                           "$[?@.a <> 1]",
                           "$[?1]",
                           "$[?'a']",
                           "$[?true]",
                           "$[?null]",
                           "$[?@.* == 1]",
                           "$[?@..a == 1]",
                           "$[?@[0:1] == 1]",
                           "$[?@['a','b'] == 1]",
                           "$[?@.a & @.b]",
                           "$[?@.a &&]",
                           "$[?&& @.a]",
                           "$[?@.a and @.b]",
                           "$[?!@.a == 1]",
                           "$[?!1]",
                           "$[?(@.a]",
                           "$[?@.a)]",
                           "$[?@.a == 01]",
                           "$[?@.a == 1.]",
                           "$[?@.a == .5]",
                           "$[?@.a == 1e]",
                           "$[?@.a == +1]",
                           "$[?@.a == True]",
                           "$[?@.a == [1]]",
                           "$[?@.a == {}]",
                           "$[?@.a == b]",
                           "$[?a]",
                           "$[?.a]",
                           "$[?length(@.a)]",
                           "$[?length(@.*) == 1]",
                           "$[?length() == 0]",
                           "$[?length(@, @) == 0]",
                           "$[?count(1) == 1]",
                           "$[?count(@.a)]",
                           "$[?match(@.a)]",
                           "$[?match(@.a, 'x') == true]",
                           "$[?match(@.*, 'x')]",
                           "$[?match(@.a, '(')]",
                           "$[?value(1) == 1]",
                           "$[?nothing(@.a)]",
                           "$[?length (@.a) == 1]",
                           "$[?LENGTH(@.a) == 1]",
                           "$[?length(match(@.a, 'x')) == 1]",
                           "$[?@.a == 1 == 2]",
                           "$[?@.a in 'x']",
                           "$[?@.a =~ 'x']",
                           "$[?(1)]"}) {
    EXPECT_FALSE(parse_json_path(text)) << text;
  }
}

TEST(JsonPath, an_error_says_what_is_wrong_and_where) {
  EXPECT_EQ(read_path("items"), "a JSON path begins with $, which is missing at character 1");
  EXPECT_THAT(read_path("$.a-b"), HasSubstr("['a-b']) at character 4"));
  EXPECT_EQ(read_path("$.a[0"), "']' is missing for '[' at character 4");
  EXPECT_EQ(read_path("$['a"), "a text in quotes is not closed at character 3");
  EXPECT_EQ(read_path("$[01]"), "an index has no digits, or a 0 in front at character 3");
  EXPECT_EQ(read_path("$['\\q']"), "this is no escape of JSON at character 4");
  EXPECT_EQ(read_path("$[?@.a]["), "']' is missing for '[' at character 8");
  EXPECT_EQ(read_path("$[?@.* == 1]"), "a path that names one value is needed at character 4");
  EXPECT_EQ(read_path("$[?size(@) == 1]"), "the functions are length, count, value, match and search at character 4");
}

TEST(JsonPath, sizes_and_depths_have_a_limit) {
  std::string parts = "$";
  for (int i = 0; i < 64; ++i) parts += ".a";
  EXPECT_TRUE(parse_json_path(parts));
  EXPECT_THAT(read_path(parts + ".a"), HasSubstr("more than 64 parts"));
  EXPECT_THAT(read_path("$[?" + std::string(40, '(') + "@" + std::string(40, ')') + "]"), HasSubstr("nested"));
  std::string nested = "@";
  for (int i = 0; i < 100; ++i) nested = "@[?" + nested + "]";
  EXPECT_THAT(read_path("$[?" + nested + "]"), HasSubstr("nested"));
  EXPECT_FALSE(parse_json_path("$." + std::string(5000, 'a')));
}

RC_GTEST_PROP(JsonPath, any_text_is_a_path_or_refused_with_a_place, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('$', '.', '[', ']', '\'', '"', '\\', '?', '@',
                                                                      '*', ':', ',', '(', ')', '=', '!', '<', '&', '|',
                                                                      '-', '0', '1', 'a', 'u', ' '));
  const auto path = parse_json_path("$" + text);
  if (!path) RC_ASSERT(path.error().message.find(" at character ") != std::string::npos);
}

}  // namespace
}  // namespace bellwether::plan
