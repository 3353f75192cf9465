#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "load/plan/compile/scope.h"
#include "load/plan/load_testing.h"
#include "load/scenario/section.h"

namespace bellwether::plan {
namespace {

Piece parsed(std::string_view expression) {
  auto piece = parse_builtin(expression);
  EXPECT_TRUE(piece.has_value() && piece->has_value()) << expression;
  return piece && *piece ? **piece : Piece{};
}

std::string refused(std::string_view expression) {
  auto piece = parse_builtin(expression);
  if (!piece) return "is none";
  return *piece ? "is right" : piece->error().message;
}

TEST(Builtin, each_can_be_written_as_the_table_shows) {
  for (const scenario::BuiltinEntry& entry : scenario::kBuiltins) {
    const Piece piece = parsed(entry.written);
    if (piece.kind == Piece::Kind::kBuiltin) EXPECT_EQ(piece.builtin, entry.id) << entry.name;
    EXPECT_EQ(piece.kind == Piece::Kind::kList, entry.id == Builtin::kRandomChoice) << entry.name;
    EXPECT_TRUE(entry.written.starts_with(entry.name)) << entry.name;
  }
}

TEST(Builtin, each_is_in_the_table_of_the_documentation_and_no_other) {
  std::vector<std::string> told;
  std::ifstream file("docs/load/reference/functions.md");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `${")) told.push_back(line);
  }
  std::vector<std::string> known;
  for (const scenario::BuiltinEntry& entry : scenario::kBuiltins) {
    known.push_back("| `${" + std::string(entry.written) + "}` | " + std::string(entry.makes) + " |");
  }
  for (const scenario::TransformEntry& entry : scenario::kTransforms) {
    known.push_back("| `${" + std::string(entry.written) + "}` | " + std::string(entry.makes) + " |");
  }
  EXPECT_EQ(told, known);
}

TEST(Builtin, whole_numbers_may_be_anything_that_fits) {
  EXPECT_EQ(parsed("random( -5 ,7)").low, -5);
  EXPECT_EQ(parsed("random(-5, 7)").high, 7);
  EXPECT_EQ(parsed("random(-9223372036854775808, 9223372036854775807)").high, INT64_MAX);
  EXPECT_EQ(parsed("date").low, 0);
  EXPECT_EQ(parsed("date()").low, 0);
  EXPECT_EQ(parsed("date(-30)").low, -30);
}

TEST(Builtin, decimal_numbers_are_exact) {
  const Piece usual = parsed("random_float(-0.5, 1)");
  EXPECT_EQ(usual.low, -500'000);
  EXPECT_EQ(usual.high, 1'000'000);
  EXPECT_EQ(usual.decimals, 6);
  const Piece cents = parsed("random_float(0.29, 1000000000, 2)");
  EXPECT_EQ(cents.low, 29);
  EXPECT_EQ(cents.high, 100'000'000'000);
  // Only what lies between the two, on either side of 0.
  const Piece inner = parsed("random_float(-1.234, 1.239, 1)");
  EXPECT_EQ(inner.low, -12);
  EXPECT_EQ(inner.high, 12);
  const Piece above = parsed("random_float(1.01, 1.99, 1)");
  EXPECT_EQ(above.low, 11);
  EXPECT_EQ(above.high, 19);
  const Piece below = parsed("random_float(-1.99, -1.01, 1)");
  EXPECT_EQ(below.low, -19);
  EXPECT_EQ(below.high, -11);
}

TEST(Builtin, texts_are_bare_words_or_stand_in_quotes) {
  const auto elements = parsed(R"(random_choice( a b ,"c, d", 'e "f" (g)',''))").list->elements;
  EXPECT_EQ(elements, (std::vector<std::optional<std::string>>{"a b", "c, d", "e \"f\" (g)", ""}));
}

TEST(Builtin, a_name_that_is_none_is_left_to_others) {
  for (const char* other : {"randoms", "token", "list.json.$.id", "list.json.$['a(b)']", "users.fake", "tokens[random]",
                            "faker.city", "a-b(1)"}) {
    EXPECT_EQ(refused(other), "is none") << other;
  }
}

TEST(Builtin, wrong_arguments_are_refused) {
  EXPECT_EQ(refused("vu()"), "'vu' is written ${vu}");
  EXPECT_EQ(refused("random"), "'random' is written ${random(1, 10)}");
  EXPECT_EQ(refused("random(1, 2, 3)"), "'random' is written ${random(1, 10)}");
  EXPECT_EQ(refused("random_choice()"), "'random_choice' is written ${random_choice(red, green, 'dark blue')}");
  for (const char* wrong : {"random(1.5, 2)",
                            "random(a, 2)",
                            "random(2, 1)",
                            "random(1, 9223372036854775808)",
                            "random_float(1, b)",
                            "random_float(1e3, 2e3)",
                            "random_float(.5, 1)",
                            "random_float(1., 2)",
                            "random_float(--1, 2)",
                            "random_float(0, 1000000000.5)",
                            "random_float(0, 99999999999)",
                            "random_float(0, 0.0000000001)",
                            "random_float(0, 1, 10)",
                            "random_float(0, 1, -1)",
                            "random_float(2, 1)",
                            "random_float(0.1, 0.9, 0)",
                            "random_string(0)",
                            "random_string(1025)",
                            "random_digits(x)",
                            "date(1.5)",
                            "date(99999999)",
                            "fake.sentence(0)",
                            "fake.sentence",
                            "random_choice(a,)",
                            "random_choice('a' b)",
                            "random_choice('a)",
                            "random(1, 2",
                            "fake",
                            "fake.frist_name",
                            "fake.city(1)",
                            "rnadom(1, 2)"}) {
    EXPECT_NE(refused(wrong), "is right") << wrong;
    EXPECT_NE(refused(wrong), "is none") << wrong;
  }
  std::string many = "random_choice(0";
  for (std::size_t i = 1; i < scenario::kMaxChoices; ++i) many += ", " + std::to_string(i);
  EXPECT_EQ(refused(many + ")"), "is right");
  EXPECT_NE(refused(many + ", x)"), "is right");
}

TEST(Builtin, choices_are_escaped_for_their_place) {
  TestSources sources(R"(workflows: {w: {vus: 1, duration: 1s, steps: {
    a: {http: {
      post: "http://h/${random_choice(a b, 'c&d')}",
      query: {q: "${random_choice('e f')}"},
      json: {x: "${random_choice('say \"hi\"')}"}}}}}})");
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  const auto& call = std::get<HttpCall>(plan->workflows[0].steps[0].work);
  using Texts = std::vector<std::optional<std::string>>;
  const auto lists_of = [](const Template& text) {
    std::vector<Texts> out;
    for (const Piece& piece : text.pieces) {
      if (piece.kind == Piece::Kind::kList) out.push_back(piece.list->elements);
    }
    return out;
  };
  EXPECT_EQ(lists_of(call.url), (std::vector<Texts>{{"a%20b", "c%26d"}, {"e%20f"}}));
  EXPECT_EQ(lists_of(*call.body), (std::vector<Texts>{{R"(say \"hi\")"}}));
}

TEST(Builtin, choices_are_counted_among_the_texts_of_a_plan) {
  std::string choice = "${random_choice(a";
  for (int i = 1; i < 100; ++i) choice += ",a";
  choice += ")}";
  std::string body;
  for (int i = 0; i < 20; ++i) body += choice;
  std::string yaml = "workflows: {w: {vus: 1, duration: 1s, steps: {\n";
  for (int i = 0; i < 1'000; ++i) {
    yaml += "  a" + std::to_string(i) + ": {http: {post: 'http://h/', body: " + (i == 0 ? "&b '" + body + "'" : "*b") +
            "}},\n";
  }
  TestSources sources(yaml + "}}}");
  EXPECT_NE(sources.errors().find("the texts of the scenario, names replaced and files read, are too long"),
            std::string::npos);
}

// The body of a step, as show() gives it, after a step "login" that extracts `token`.
std::string made(const std::string& body) {
  TestSources sources(
      "env: {WHO: ann, KEY: Jefe}\nworkflows: {w: {vus: 1, duration: 1s, steps: {\n"
      "login: {http: {get: 'http://h/'}, extract: {token: {json: $.t}}},\n"
      "a: {after: login, http: {post: 'http://h/', body: \"" +
      body + "\"}}}}}\n");
  const auto plan = sources.load();
  return plan ? show(*std::get<HttpCall>(plan->workflows[0].steps[1].work).body) : sources.errors();
}

TEST(Builtin, functions_of_constants_are_constants) {
  EXPECT_EQ(made("${hash.md5('abc')}"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(made("x${base64.encode(WHO, ':', 'p,w)')}y"), "xYW5uOnAsdyk=y");
  EXPECT_EQ(made("${hash.hmac(sha256, KEY, 'what do ya want for nothing?')}"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(made("${base64.encode_url(hex.decode('fbff'))}"), "-_8");
  EXPECT_EQ(made("${hex.encode(base64.decode('-_8'))}/${url.encode('a b')}"), "fbff/a%20b");
  EXPECT_EQ(made("${hex.encode('')}"), "");
}

TEST(Builtin, functions_of_other_values_wait_for_them) {
  EXPECT_EQ(made("a ${hash.sha1(WHO, token)}"), "a {of ann{slot 0}}");
  EXPECT_EQ(made("${hash.hmac('md5', token, vu)}"), "{of {slot 0}{vu}}");
  EXPECT_EQ(made("${hex.encode(hash.sha1(login.json.$.a['x,(']))}"), "{of {of {slot 1}}}");
}

TEST(Builtin, wrong_functions_are_refused) {
  const auto told = [](const std::string& body, const char* words) {
    return made(body).find(words) != std::string::npos;
  };
  EXPECT_TRUE(told("${hash.sha255(token)}", "did you mean 'hash.sha256'?"));
  EXPECT_TRUE(told("${hash.sha256(tokne)}", "unknown name 'tokne'"));
  EXPECT_TRUE(told("${hash.sha256()}", "'hash.sha256' needs more values"));
  EXPECT_TRUE(told("${hash.hmac(sha256, token)}", "'hash.hmac' needs more values"));
  EXPECT_TRUE(told("${hash.hmac(sha9, token, vu)}", "expected: one of md5, sha1, sha256, sha512"));
  EXPECT_TRUE(told("${hex.decode('abc')}", "pairs of hexadecimal digits"));
  EXPECT_TRUE(told("${hex.encode(vu}", "'hex.encode' is written ${hex.encode(VALUE)}"));
  std::string deep = "vu";
  for (int i = 0; i < 9; ++i) deep = "hex.encode(" + deep + ")";
  EXPECT_TRUE(told("${" + deep + "}", "more than 8 functions in each other"));
}

TEST(Builtin, what_is_named_like_a_function_stays_a_value) {
  TestSources sources(
      "workflows: {w: {vus: 1, duration: 1s, steps: {hash: {http: {get: 'http://h/'}, "
      "extract: {sha256: {json: $.t}}},\nb: {after: hash, http: {get: 'http://h/${hash.sha256}/"
      "${sha256}/${hash.json.$[?length(@.a) > 1]}'}}}}}\n");
  EXPECT_EQ(sources.errors(), "");
}

TEST(Builtin, the_texts_in_functions_are_limited) {
  std::string yaml = "env: {B: '" + std::string(100'000, 'x') + "'}\nworkflows: {w: {vus: 1, duration: 1s, steps: {\n";
  std::string values = "vu";
  for (int i = 0; i < 10; ++i) values += ", B";
  TestSources sources(yaml + "a: {http: {post: 'http://h/', body: '${hex.encode(" + values + ", " + values +
                      ")}'}}}}}");
  EXPECT_NE(sources.errors().find("the constant values of a function are too long"), std::string::npos);
  for (int i = 0; i < 100; ++i) {
    yaml += "a" + std::to_string(i) + ": {http: {post: 'http://h/', body: '${hex.encode(" + values + ")}'}},\n";
  }
  TestSources many(yaml + "}}}");
  EXPECT_NE(many.errors().find("names replaced and files read, are too long"), std::string::npos);
}

TEST(Builtin, names_of_values_and_prefixes_are_kept_free) {
  const auto has = [](std::string_view name) {
    return std::find(scenario::kBuiltinNames.begin(), scenario::kBuiltinNames.end(), name) !=
           scenario::kBuiltinNames.end();
  };
  for (const scenario::BuiltinEntry& entry : scenario::kBuiltins) {
    const std::size_t dot = entry.name.find('.');
    EXPECT_TRUE(has(entry.name.substr(0, dot))) << entry.name;
    EXPECT_EQ(scenario::is_taken_prefix(entry.name.substr(0, dot)), dot != std::string_view::npos) << entry.name;
  }
}

}  // namespace
}  // namespace bellwether::plan
