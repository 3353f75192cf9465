// What each built-in value of templates looks like, through the reader of templates and the renderer of requests.

#include <gtest/gtest.h>
#include <map>
#include <re2/re2.h>
#include <set>
#include <string>

#include "load/plan/compile/scope.h"
#include "load/vuser/render.h"

namespace bellwether::vuser {
namespace {

class Drawing {
 public:
  explicit Drawing(uint64_t seed) : prng_(seed) {}

  std::string operator()(std::string_view expression, plan::Escape escape = plan::Escape::kNone) {
    plan::Piece piece = plan::parse_builtin(expression)->value();
    piece.escape = escape;
    std::string out = "<";  // what was there already stays
    const RenderContext context{values_, 7, 3, WallTime{1'790'000'000'123'456'789}, prng_};
    EXPECT_TRUE(render({{piece}}, context, out)) << expression;
    EXPECT_TRUE(out.starts_with("<")) << expression;
    return out.substr(1);
  }

 private:
  Values values_{1};
  Prng prng_;
};

// A whole text of each.
const std::map<plan::Builtin, std::string> kForms{
    {plan::Builtin::kVu, "7"},
    {plan::Builtin::kIteration, "3"},
    {plan::Builtin::kNow, R"(2026-09-21T14:13:20\.123Z)"},
    {plan::Builtin::kNowMs, "1790000000123"},
    {plan::Builtin::kNowS, "1790000000"},
    {plan::Builtin::kDate, "2026-09-28"},
    {plan::Builtin::kUuid, "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"},
    {plan::Builtin::kRandomInt, "[1-9]|10"},
    {plan::Builtin::kRandomFloat, R"(0\.\d{6}|1\.000000)"},
    {plan::Builtin::kRandomChoice, "red|green|dark blue"},
    {plan::Builtin::kRandomString, "[A-Za-z0-9]{12}"},
    {plan::Builtin::kRandomAlpha, "[A-Za-z]{8}"},
    {plan::Builtin::kRandomDigits, "[0-9]{6}"},
    {plan::Builtin::kRandomHex, "[0-9a-f]{16}"},
    {plan::Builtin::kFakeFirstName, "[A-Z][a-z]+"},
    {plan::Builtin::kFakeLastName, "[A-Z][a-z]+"},
    {plan::Builtin::kFakeName, "[A-Z][a-z]+ [A-Z][a-z]+"},
    {plan::Builtin::kFakeUserName, R"([a-z]+\.[a-z]+[1-9]\d{0,2})"},
    {plan::Builtin::kFakeEmail, R"([a-z]+\.[a-z]+[1-9]\d{0,2}@example\.(com|net|org))"},
    {plan::Builtin::kFakePhone, R"(\+1-[2-9]\d\d-555-01\d\d)"},
    {plan::Builtin::kFakeStreet, R"([1-9]\d{0,2} [A-Z][a-z]+ [A-Z][a-z]+)"},
    {plan::Builtin::kFakeCity, "[A-Z][a-z]+( [A-Z][a-z]+)?"},
    {plan::Builtin::kFakeCountry, "[A-Z][a-z]+( [A-Z][a-z]+)?"},
    {plan::Builtin::kFakeZip, R"(\d{5})"},
    {plan::Builtin::kFakeLatitude, R"(-?([1-8]?\d\.\d{6}|90\.000000))"},
    {plan::Builtin::kFakeLongitude, R"(-?([1-9]?\d\.\d{6}|1[0-7]\d\.\d{6}|180\.000000))"},
    {plan::Builtin::kFakeCompany, "[A-Z][a-z]+ [A-Z][a-z]+"},
    {plan::Builtin::kFakeJob, "[A-Z][a-z]+"},
    {plan::Builtin::kFakeProduct, "[A-Z][a-z]+ [A-Z][a-z]+"},
    {plan::Builtin::kFakeColor, "[a-z]+"},
    {plan::Builtin::kFakeWord, "[a-z]+"},
    {plan::Builtin::kFakeSentence, R"([A-Z][a-z]*( [a-z]+){4}\.)"},
    {plan::Builtin::kFakeDomain, R"([a-z]+-[a-z]+\.example)"},
    {plan::Builtin::kFakeUrl, R"(https://[a-z]+-[a-z]+\.example/[a-z]+)"},
    {plan::Builtin::kFakeIpv4, R"(198\.(18|19)\.\d{1,3}\.\d{1,3})"},
    {plan::Builtin::kFakeIpv6, "2001:db8(:[0-9a-f]{1,4}){6}"},
};

TEST(Builtins, each_keeps_its_form) {
  Drawing draw(1);
  for (const scenario::BuiltinEntry& entry : scenario::kBuiltins) {
    const auto form = kForms.find(entry.id);
    ASSERT_NE(form, kForms.end()) << entry.name;
    for (int i = 0; i < 300; ++i) {
      const std::string drawn = draw(entry.written);
      EXPECT_TRUE(RE2::FullMatch(drawn, form->second)) << entry.name << ": " << drawn;
    }
  }
}

TEST(Builtins, one_seed_gives_one_sequence_and_another_one_another) {
  for (const scenario::BuiltinEntry& entry : scenario::kBuiltins) {
    Drawing first(1);
    Drawing again(1);
    Drawing other(2);
    std::string drawn;
    std::string others;
    for (int i = 0; i < 30; ++i) {
      const std::string one = first(entry.written);
      EXPECT_EQ(one, again(entry.written)) << entry.name;
      drawn += one;
      others += other(entry.written);
    }
    const bool by_chance = entry.name.starts_with("fake.") || entry.name.starts_with("random") || entry.name == "uuid";
    EXPECT_EQ(drawn != others, by_chance) << entry.name;
  }
}

TEST(Builtins, random_texts_take_everything_that_they_may) {
  Drawing draw(3);
  const auto seen = [&](const char* expression) {
    const std::string drawn = draw(expression);
    return std::set<char>(drawn.begin(), drawn.end()).size();
  };
  EXPECT_EQ(seen("random_string(1024)"), 62u);
  EXPECT_EQ(seen("random_alpha(1024)"), 52u);
  EXPECT_EQ(seen("random_digits(1024)"), 10u);
  EXPECT_EQ(draw("random_string(1024)").size(), 1024u);
}

TEST(Builtins, decimal_numbers_reach_both_ends_and_go_no_further) {
  Drawing draw(4);
  std::set<std::string> seen;
  for (int i = 0; i < 1'000; ++i) seen.insert(draw("random_float(-0.02, 0.03, 2)"));
  EXPECT_EQ(seen, (std::set<std::string>{"-0.02", "-0.01", "0.00", "0.01", "0.02", "0.03"}));
  EXPECT_EQ(draw("random_float(7, 7, 0)"), "7");
  EXPECT_EQ(draw("random_float(-1000000000, -1000000000, 9)"), "-1000000000.000000000");
}

TEST(Builtins, dates_lie_days_apart) {
  Drawing draw(5);
  EXPECT_EQ(draw("date"), "2026-09-21");
  EXPECT_EQ(draw("date(-21)"), "2026-08-31");
  EXPECT_EQ(draw("date(36500)"), "2126-08-28");
  EXPECT_EQ(draw("date(-36500)"), "1926-10-16");
}

TEST(Builtins, made_up_values_are_percent_encoded_in_urls_and_need_nothing_elsewhere) {
  for (const scenario::BuiltinEntry& entry : scenario::kBuiltins) {
    if (!entry.name.starts_with("fake.")) continue;
    Drawing plain(6);
    Drawing url(6);
    Drawing json(6);
    for (int i = 0; i < 100; ++i) {
      const std::string drawn = plain(entry.written);
      std::string expected;
      for (const char c : drawn) {
        if (c == ' ')
          expected += "%20";
        else if (c == '@')
          expected += "%40";
        else if (c == '+')
          expected += "%2B";
        else if (c == ':')
          expected += "%3A";
        else if (c == '/')
          expected += "%2F";
        else
          expected += c;
      }
      EXPECT_EQ(url(entry.written, plan::Escape::kUrl), expected);
      EXPECT_EQ(json(entry.written, plan::Escape::kJson), drawn);
      EXPECT_EQ(drawn.find_first_of("\"\\\r\n"), std::string::npos) << drawn;
    }
  }
}

TEST(Builtins, lists_are_long_enough_to_look_like_people) {
  Drawing draw(7);
  std::set<std::string> names;
  std::set<std::string> words;
  for (int i = 0; i < 2'000; ++i) {
    names.insert(draw("fake.name"));
    words.insert(draw("fake.word"));
  }
  EXPECT_GT(names.size(), 1'500u);
  EXPECT_GT(words.size(), 100u);
}

TEST(Builtins, the_clock_is_read_for_those_that_tell_the_time) {
  for (const scenario::BuiltinEntry& entry : scenario::kBuiltins) {
    const plan::Piece piece = plan::parse_builtin(entry.written)->value();
    const bool tells = entry.name.starts_with("now") || entry.name == "date";
    EXPECT_EQ(mentions_time({{piece}}), tells) << entry.name;
  }
}

}  // namespace
}  // namespace bellwether::vuser
