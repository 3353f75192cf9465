#include "load/plan/context.h"

#include <gtest/gtest.h>

#include "core/base/check.h"
#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

TEST(Context, the_lowest_user_s_last_value_stays_whichever_comes_first) {
  const Provided early{0, 1, Duration::seconds(1), "early"};
  const Provided late{0, 1, Duration::seconds(2), "late"};
  std::vector<Provided> one;
  merge(one, early);
  merge(one, late);
  std::vector<Provided> other;
  merge(other, late);
  merge(other, early);
  EXPECT_EQ(one, other);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].text, "late");
  merge(one, {0, 2, Duration::seconds(9), "of a higher user"});
  EXPECT_EQ(one[0].text, "late");
  merge(one, {1, 1, Duration::seconds(1), "another"});
  EXPECT_EQ(one.size(), 2u);
}

TEST(Context, what_is_too_long_together_is_left_out_and_marked) {
  std::vector<Provided> values{{0, 1, {}, std::string(kMaxContextText - 1, 'a')}, {1, 1, {}, "bb"}, {2, 1, {}, "c"}};
  cut_to_size(values);
  EXPECT_FALSE(values[0].too_large);
  EXPECT_TRUE(values[1].too_large);
  EXPECT_EQ(values[1].text, "");
  EXPECT_EQ(values[2].text, "c");
}

constexpr const char* kScenario = R"(
workflows:
  auth:
    steps: {login: {action: {set: {t: "${uuid}"}}}}
    provide: {browse: {token: "${login.t}", lang: "${t}"}}
  browse:
    depends: auth
    vus: 1
    duration: 1s
    use: {auth: {token: "", lang: "de & en"}}
    steps:
      list:
        http:
          post: "http://h/${lang}/${vu}"
          headers: {Authorization: "Bearer ${token}"}
          json: {lang: "${lang}"}
)";

Plan good_plan(const char* text) {
  auto plan = TestSources(text).load();
  check(plan.has_value(), "the test's scenario is right");
  return std::move(*plan);
}

const HttpCall& call_of(const Plan& plan) { return std::get<HttpCall>(plan.workflows[1].steps[0].work); }

TEST(Context, values_are_escaped_for_their_places) {
  const Plan plan = with_given(good_plan(kScenario), 1, {{0, "a\"b"}, {1, "a\"b"}});
  const HttpCall& call = call_of(plan);
  EXPECT_EQ(call.url.pieces[0].literal, "http://h/a%22b/");
  EXPECT_EQ(call.headers[0].value.text(), "Bearer a\"b") << "one constant text";
  EXPECT_EQ(call.body->text(), R"({"lang":"a\"b"})");
}

TEST(Context, values_arrive_in_conditions_and_records) {
  const Plan plan = with_given(good_plan(R"(
metrics: {size: trend}
workflows:
  auth: {steps: {login: {action: {set: {n: "7"}}}}, provide: {browse: {n: "${n}"}}}
  browse:
    depends: auth
    vus: 1
    duration: 1s
    use: {auth: [n]}
    steps: {all: {if: {"${n}": 7}, steps: {a: {http: {get: "http://h/"}, metric: {size: "${n}"}}}}}
)"),
                               1, {{0, "7"}});
  EXPECT_EQ(plan.workflows[1].steps[0].conditions[0].value.text(), "7");
  EXPECT_EQ(plan.workflows[1].steps[1].records[0].value.text(), "7");
}

TEST(Context, a_value_at_the_begin_of_a_url_is_a_link) {
  const auto url = [](std::string_view base, const char* given) {
    const std::string text = fmt::format(R"(
defaults: {{http: {{{}}}}}
workflows:
  auth: {{steps: {{login: {{action: {{set: {{t: "${{uuid}}"}}}}}}}}, provide: {{browse: {{next: "${{t}}"}}}}}}
  browse:
    depends: auth
    vus: 1
    duration: 1s
    use: {{auth: [next]}}
    steps: {{list: {{http: {{get: "${{next}}", query: {{n: "1"}}}}}}}}
)",
                                         base);
    const Plan plan = with_given(good_plan(text.c_str()), 1, {{0, given}});
    return call_of(plan).url.constant() ? std::string(call_of(plan).url.text()) : "open";
  };
  EXPECT_EQ(url("", "http://far/a?b=c d"), "http://far/a?b=c%20d&n=1");
  EXPECT_EQ(url("base: 'http://h/'", "https://far/a"), "https://far/a?n=1");
  EXPECT_EQ(url("base: 'http://h/'", "/a?b=c"), "http://h/a?b=c&n=1");
  EXPECT_EQ(url("", "/a"), "open") << "no base";
}

TEST(Context, a_fallback_stands_for_what_was_not_provided) {
  const Plan plan = with_given(good_plan(kScenario), 1, {});
  EXPECT_EQ(call_of(plan).url.pieces[0].literal, "http://h/de%20%26%20en/");
  EXPECT_EQ(call_of(plan).headers[0].value.text(), "Bearer ");
}

TEST(Context, what_does_not_fit_a_header_stays_open) {
  const Plan plan = with_given(good_plan(kScenario), 1, {{0, "a\r\nb"}});
  EXPECT_FALSE(call_of(plan).headers[0].value.constant());
}

constexpr const char* kLists = R"(
workflows:
  auth:
    steps: {login: {action: {set: {t: "${uuid}"}}}}
    provide: {browse: {tokens: {value: "${t}", collect: all}, more: {value: "${t}", collect: all}}}
  browse:
    depends: auth
    vus: 1
    duration: 1s
    use: {auth: {tokens: "no & body", more: ""}}
    steps:
      list:
        http:
          post: "http://h/${tokens[vu]}/${tokens[-1]}?n=${tokens[3]}"
          headers: {A: "${tokens[1]}", B: "${tokens}", C: "${tokens[random]}"}
          body: "${more}"
    provide: {pay: {seen: "${tokens[0]}"}}
  pay:
    depends: browse
    vus: 1
    duration: 1s
    use: {browse: [seen]}
    steps: {a: {http: {get: "http://h/${seen}"}}}
)";

TEST(Context, an_element_of_a_list_is_a_text_and_the_rest_waits_for_its_user) {
  const Plan plan = with_given(good_plan(kLists), 1, {{0, "", {"a/b", "c\r", "d\""}}});
  EXPECT_TRUE(plan.workflows[0].provides[0].collect_all);
  EXPECT_TRUE(plan.workflows[1].uses[0].is_list);
  const HttpCall& call = call_of(plan);
  ASSERT_EQ(call.url.pieces.size(), 4u);
  const Piece& mine = call.url.pieces[1];
  ASSERT_EQ(mine.kind, Piece::Kind::kList);
  EXPECT_EQ(mine.pick, Pick::kVu);
  EXPECT_EQ(*mine.list->elements[0], "a%2Fb") << "escaped for its place";
  EXPECT_EQ(call.url.pieces[2].literal, "/d%22?n=") << "counted from the end";
  EXPECT_EQ(call.url.pieces[3].kind, Piece::Kind::kGiven) << "there is no such element";
  EXPECT_EQ(call.headers[0].value.pieces[0].kind, Piece::Kind::kGiven) << "it does not fit a header";
  ASSERT_EQ(call.headers[1].value.pieces[0].kind, Piece::Kind::kList);
  EXPECT_EQ(call.headers[1].value.pieces[0].pick, Pick::kWhole);
  EXPECT_EQ(call.headers[1].value.pieces[0].list->whole, R"(["a/b","c\u000D","d\""])");
  EXPECT_EQ(call.headers[2].value.pieces[0].list, call.headers[1].value.pieces[0].list) << "one for each kind of place";
  EXPECT_FALSE(call.headers[2].value.pieces[0].list->elements[1]);
  EXPECT_EQ(plan.workflows[1].provides[0].value.text(), "a/b");
}

TEST(Context, a_fallback_is_the_only_element_of_a_list) {
  const Plan plan = with_given(good_plan(kLists), 1, {});
  const HttpCall& call = call_of(plan);
  EXPECT_EQ(*call.url.pieces[1].list->elements[0], "no%20%26%20body");
  EXPECT_EQ(call.url.pieces[2].literal, "/no%20%26%20body?n=");
  EXPECT_EQ(call.body->pieces[0].list->whole, R"([""])");
}

TEST(Context, a_text_is_no_list_and_a_list_no_text) {
  EXPECT_FALSE(call_of(with_given(good_plan(kScenario), 1, {{0, "", {"a"}}})).headers[0].value.constant() &&
               call_of(with_given(good_plan(kScenario), 1, {{0, "", {"a"}}})).headers[0].value.text() == "Bearer a");
  const Plan plan = with_given(good_plan(kLists), 1, {{0, "text"}});
  EXPECT_EQ(plan.workflows[1].provides[0].value.text(), "no & body") << "what is left is the fallback";
}

TEST(Context, a_list_has_a_limit_of_its_own) {
  std::vector<Provided> values{{0, 1, {}, std::string(kMaxContextText, 'a'), false, true}, {1, 1, {}, "b"}};
  cut_to_size(values);
  EXPECT_FALSE(values[1].too_large);
}

TEST(Context, checks_metrics_and_functions_get_what_was_provided) {
  const Plan plan = with_given(good_plan(R"(
metrics: {tokens: counter}
workflows:
  auth:
    steps: {login: {action: {set: {t: "${uuid}"}}}}
    provide: {browse: {token: "${t}"}}
  browse:
    depends: auth
    vus: 1
    duration: 1s
    use: {auth: [token]}
    steps:
      list:
        http: {get: "http://h/${hex.encode(token)}", auth: {digest: {user: "${token}", password: x}}}
        check: {body: "${token}"}
        metric: {tokens: "${token}"}
)"),
                               1, {{0, "12"}});
  const Step& step = plan.workflows[1].steps[0];
  EXPECT_EQ(std::get<Template>(step.checks[0].any_of[0]).text(), "12");
  EXPECT_EQ(step.records[0].value.text(), "12");
  const HttpCall& call = std::get<HttpCall>(step.work);
  EXPECT_EQ(call.digest->user.text(), "12");
  EXPECT_EQ(show(call.url), "http://h/{of 12|url}");
}

TEST(Context, names_say_who_provides_for_whom) {
  const Plan plan = good_plan(kScenario);
  ASSERT_EQ(plan.workflows[0].provides.size(), 2u);
  EXPECT_EQ(plan.workflows[0].provides[1].name, "lang");
  EXPECT_EQ(plan.workflows[0].provides[1].to, 1);
  ASSERT_EQ(plan.workflows[1].uses.size(), 2u);
  EXPECT_EQ(plan.workflows[1].uses[1].from, 0);
  EXPECT_EQ(plan.workflows[1].uses[1].provide, 1);
  EXPECT_EQ(plan.workflows[1].depends, std::vector<uint16_t>{0});
}

}  // namespace
}  // namespace bellwether::plan
