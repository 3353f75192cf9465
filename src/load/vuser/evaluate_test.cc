#include "load/vuser/evaluate.h"

#include <gtest/gtest.h>
#include <set>

namespace bellwether::vuser {
namespace {

using plan::Check;
using plan::Comparison;

// A response as the client leaves it, from its parts.
class Evaluating : public testing::Test {
 protected:
  http1::Response response(int status, std::string body, std::string fields = "") {
    head_ = "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
            fields + "\r\n";
    body_ = std::move(body);
    const std::size_t size = body_.size();
    body_.resize(size + JsonReader::kPadding);
    http1::Response made;
    made.buffer = pool_.take();
    std::size_t scan = 0, consumed = 0;
    const char* reason = "";
    EXPECT_EQ(http1::parse_response_head(head_, false, scan, made.buffer->head, consumed, reason), http1::Parse::kDone);
    made.status = status;
    made.body = {body_.data(), size};
    return made;
  }
  Check check(Check::Subject subject, Comparison comparison, std::vector<plan::Literal> any_of = {}) {
    Check made;
    made.subject = subject;
    made.comparison = comparison;
    made.any_of = std::move(any_of);
    made.id = static_cast<plan::CheckId>(step_.checks.size());
    return made;
  }
  bool evaluate(const http1::Response& given, Duration took = Duration::millis(5)) {
    counts_.assign(step_.checks.size(), {});
    Evaluator evaluator(step_, readers_);
    const RenderContext context{values_, 7, 0, WallTime{}, prng_};
    return evaluator.evaluate(given, took, cookies_, values_, counts_, &context);
  }
  // A value that a check compares with: that of a slot.
  static plan::Template slot(plan::SlotId id) {
    plan::Piece piece;
    piece.kind = plan::Piece::Kind::kSlot;
    piece.slot = id;
    return {{piece}};
  }
  bool holds(const Check& one, const http1::Response& given) {
    step_.checks = {one};
    step_.checks[0].id = 0;
    return evaluate(given);
  }
  plan::JsonPath key(const char* name) {
    plan::JsonPath made;
    made.steps.push_back({name, 0, false});
    return made;
  }

  plan::Step step_;
  BodyReaders readers_;
  http1::CookieJar cookies_;
  Values values_{4};
  Prng prng_{1};
  std::vector<metrics::CheckCount> counts_;
  http1::BufferPool pool_;
  std::string head_, body_;
};

TEST_F(Evaluating, a_status_may_be_one_of_several) {
  const Check either = check(Check::Subject::kStatus, Comparison::kEqual, {200.0, 304.0});
  EXPECT_TRUE(holds(either, response(304, "")));
  EXPECT_FALSE(holds(either, response(404, "")));
}

TEST_F(Evaluating, a_status_of_400_or_more_is_a_failure_that_checks_may_allow) {
  const auto fails = [&](const http1::Response& given) { return Evaluator(step_, readers_).is_failure(given); };
  EXPECT_FALSE(fails(response(399, "")));
  EXPECT_TRUE(fails(response(400, "")));
  step_.checks = {check(Check::Subject::kBody, Comparison::kContains, {std::string("x")})};
  EXPECT_TRUE(fails(response(404, "x"))) << "it names no status";
  step_.checks = {check(Check::Subject::kStatus, Comparison::kEqual, {200.0, 404.0})};
  EXPECT_FALSE(fails(response(404, "")));
  EXPECT_TRUE(fails(response(500, "")));
  http1::Response none;
  none.error = http1::ErrorKind::kTimeout;
  EXPECT_TRUE(fails(none));
}

TEST_F(Evaluating, expected_statuses_alone_decide_what_is_a_failure) {
  step_.checks = {check(Check::Subject::kStatus, Comparison::kEqual, {500.0})};
  plan::HttpCall call;
  call.expected = {{404, 404}, {300, 399}};
  step_.work = call;
  Evaluator evaluator(step_, readers_);
  EXPECT_FALSE(evaluator.is_failure(response(404, "")));
  EXPECT_FALSE(evaluator.is_failure(response(399, "")));
  EXPECT_TRUE(evaluator.is_failure(response(200, "")));
  EXPECT_TRUE(evaluator.is_failure(response(500, ""))) << "a check has no say";
  const std::vector<plan::StatusRange> own{{200, 200}};
  EXPECT_FALSE(evaluator.is_failure(response(200, ""), nullptr, own)) << "those of the request win";
  EXPECT_TRUE(evaluator.is_failure(response(404, ""), nullptr, own));
  http1::Response none;
  none.error = http1::ErrorKind::kTimeout;
  EXPECT_TRUE(evaluator.is_failure(none));
}

TEST_F(Evaluating, not_equal_means_equal_to_none) {
  const Check neither = check(Check::Subject::kStatus, Comparison::kNotEqual, {500.0, 503.0});
  EXPECT_TRUE(holds(neither, response(200, "")));
  EXPECT_FALSE(holds(neither, response(503, "")));
}

TEST_F(Evaluating, bodies_are_compared_searched_and_matched) {
  EXPECT_TRUE(holds(check(Check::Subject::kBody, Comparison::kContains, {std::string("ell")}), response(200, "hello")));
  EXPECT_FALSE(
      holds(check(Check::Subject::kBody, Comparison::kContains, {std::string("elf")}), response(200, "hello")));
  EXPECT_TRUE(
      holds(check(Check::Subject::kBody, Comparison::kMatches, {std::string("^h.*o$")}), response(200, "hello")));
  EXPECT_FALSE(holds(check(Check::Subject::kBody, Comparison::kMatches, {std::string("^x")}), response(200, "hello")));
  EXPECT_TRUE(holds(check(Check::Subject::kBodySize, Comparison::kLess, {6.0}), response(200, "hello")));
  EXPECT_FALSE(holds(check(Check::Subject::kBodySize, Comparison::kLess, {5.0}), response(200, "hello")));
}

TEST_F(Evaluating, json_values_compare_by_their_type) {
  const auto json = [&](Comparison comparison, std::vector<plan::Literal> any_of, const char* name = "v") {
    Check made = check(Check::Subject::kJson, comparison, std::move(any_of));
    made.path = key(name);
    return made;
  };
  EXPECT_TRUE(holds(json(Comparison::kEqual, {5.0}), response(200, R"({"v": 5})")));
  EXPECT_TRUE(holds(json(Comparison::kGreater, {4.5}), response(200, R"({"v": 5})")));
  EXPECT_FALSE(holds(json(Comparison::kGreater, {5.0}), response(200, R"({"v": 5})")));
  EXPECT_TRUE(holds(json(Comparison::kEqual, {std::string("a")}), response(200, R"({"v": "a"})")));
  EXPECT_TRUE(holds(json(Comparison::kEqual, {true}), response(200, R"({"v": true})")));
  EXPECT_FALSE(holds(json(Comparison::kEqual, {true}), response(200, R"({"v": "true"})")) &&
               holds(json(Comparison::kEqual, {false}), response(200, R"({"v": true})")));
  EXPECT_TRUE(holds(json(Comparison::kEqual, {nullptr}), response(200, R"({"v": null})")));
  EXPECT_TRUE(holds(json(Comparison::kExists, {}), response(200, R"({"v": null})")));
  EXPECT_TRUE(holds(json(Comparison::kAbsent, {}), response(200, R"({"w": 1})")));
  EXPECT_FALSE(holds(json(Comparison::kExists, {}), response(200, "no json")));
  EXPECT_FALSE(holds(json(Comparison::kNotEqual, {5.0}), response(200, R"({"w": 1})")))
      << "what is not there compares to nothing";
}

TEST_F(Evaluating, headers_are_looked_up_whatever_their_case) {
  Check there = check(Check::Subject::kHeader, Comparison::kEqual, {std::string("yes")});
  there.header = "x-flag";
  EXPECT_TRUE(holds(there, response(200, "", "X-Flag: yes\r\n")));
  EXPECT_FALSE(holds(there, response(200, "", "X-Flag: no\r\n")));
  EXPECT_FALSE(holds(there, response(200, "")));
  there.comparison = Comparison::kAbsent;
  EXPECT_TRUE(holds(there, response(200, "")));
}

TEST_F(Evaluating, all_headers_of_a_name_are_seen) {
  const std::string both = "Set-Cookie: a=1\r\nX: y\r\nset-cookie: b=\"2\"\r\n";
  const auto cookies = [&](Comparison comparison, const char* text) {
    Check one = check(Check::Subject::kHeader, comparison, {std::string(text)});
    one.header = "Set-Cookie";
    return holds(one, response(200, "", both));
  };
  EXPECT_TRUE(cookies(Comparison::kEqual, "a=1"));
  EXPECT_TRUE(cookies(Comparison::kContains, "b="));
  EXPECT_FALSE(cookies(Comparison::kContains, "c="));
  EXPECT_FALSE(cookies(Comparison::kNotEqual, "b=\"2\"")) << "none may be equal";
  EXPECT_TRUE(cookies(Comparison::kNotEqual, "c=3"));
  const auto taken = [&](plan::Take take, const std::string& name) {
    plan::Extract extract;
    extract.source = plan::Extract::Source::kHeader;
    extract.header = name;
    extract.take = take;
    step_.extracts = {extract};
    evaluate(response(200, "", both));
    return values_.has(0) ? std::string(values_.get(0)) : "(none)";
  };
  EXPECT_EQ(taken(plan::Take::kFirst, "set-cookie"), "a=1");
  EXPECT_EQ(taken(plan::Take::kAll, "set-cookie"), R"(["a=1","b=\"2\""])");
  EXPECT_EQ(taken(plan::Take::kCount, "set-cookie"), "2");
  std::set<std::string> drawn;
  for (int i = 0; i < 100; ++i) drawn.insert(taken(plan::Take::kRandom, "set-cookie"));
  EXPECT_EQ(drawn, (std::set<std::string>{"a=1", "b=\"2\""}));
  EXPECT_EQ(taken(plan::Take::kFirst, "etag"), "(none)");
  EXPECT_EQ(taken(plan::Take::kAll, "etag"), "[]");
}

TEST_F(Evaluating, a_condition_compares_with_each_rendered_value_anew) {
  plan::Condition one{slot(0), Comparison::kEqual, {slot(1), slot(2)}};
  const std::vector<plan::Condition> all{one};
  Conditions conditions(all);
  const auto hold = [&](const char* left, const char* first, const char* second) {
    values_.set(0, left);
    values_.set(1, first);
    values_.set(2, second);
    return conditions.hold({values_, 7, 0, WallTime{}, prng_});
  };
  EXPECT_TRUE(hold("a", "longer than a small text that has its place in the object", "a"));
  EXPECT_FALSE(hold("a", "b", "c"));
  EXPECT_TRUE(hold("b", "b", "c"));
}

TEST_F(Evaluating, durations_compare_in_milliseconds) {
  const Check fast = check(Check::Subject::kDuration, Comparison::kLess, {10.0});
  step_.checks = {fast};
  EXPECT_TRUE(evaluate(response(200, ""), Duration::millis(9)));
  EXPECT_FALSE(evaluate(response(200, ""), Duration::millis(10)));
}

TEST_F(Evaluating, without_a_response_every_check_fails_and_nothing_is_extracted) {
  step_.checks = {check(Check::Subject::kStatus, Comparison::kNotEqual, {500.0})};
  plan::Extract whole;
  whole.source = plan::Extract::Source::kBody;
  step_.extracts = {whole};
  http1::Response failed;
  failed.error = http1::ErrorKind::kReset;
  EXPECT_FALSE(evaluate(failed));
  EXPECT_EQ(counts_[0].fails, 1u);
  EXPECT_EQ(counts_[0].passes, 0u);
  EXPECT_FALSE(values_.has(0));
}

TEST_F(Evaluating, values_are_extracted_from_every_part) {
  plan::Extract json, regex, header, status;
  json.path = key("token");
  regex.source = plan::Extract::Source::kRegex;
  regex.pattern = "to(k.)n";
  regex.group = 1;
  regex.slot = 1;
  header.source = plan::Extract::Source::kHeader;
  header.header = "ETag";
  header.slot = 2;
  status.source = plan::Extract::Source::kStatus;
  status.slot = 3;
  step_.extracts = {json, regex, header, status};
  evaluate(response(201, R"({"token": "t1"})", "etag: \"e\"\r\n"));
  EXPECT_EQ(values_.get(0), "t1");
  EXPECT_EQ(values_.get(1), "ke");
  EXPECT_EQ(values_.get(2), "\"e\"");
  EXPECT_EQ(values_.get(3), "201");
}

TEST_F(Evaluating, a_value_that_is_not_there_is_forgotten_or_replaced_by_its_default) {
  plan::Extract json;
  json.path = key("token");
  step_.extracts = {json};
  values_.set(0, "old");
  evaluate(response(200, R"({"other": 1})"));
  EXPECT_FALSE(values_.has(0)) << "a value of an earlier response must not leak into this one";
  step_.extracts[0].fallback = "none";
  evaluate(response(200, R"({"other": 1})"));
  EXPECT_EQ(values_.get(0), "none");
}

TEST_F(Evaluating, a_group_of_any_number_is_found) {
  plan::Extract regex;
  regex.source = plan::Extract::Source::kRegex;
  std::string body;
  for (int i = 1; i <= 40; ++i) {
    regex.pattern += "(" + std::string(1, static_cast<char>('a' + i % 26)) + std::to_string(i) + ")";
    body += std::string(1, static_cast<char>('a' + i % 26)) + std::to_string(i);
  }
  regex.pattern += "(none)?";
  for (const int group : {0, 1, 16, 17, 40}) {
    regex.group = static_cast<uint16_t>(group);
    step_.extracts = {regex};
    evaluate(response(200, body));
    const std::string wanted =
        group == 0 ? body : std::string(1, static_cast<char>('a' + group % 26)) + std::to_string(group);
    EXPECT_EQ(values_.get(0), wanted) << group;
  }
  regex.group = 41;
  step_.extracts = {regex};
  evaluate(response(200, body));
  EXPECT_FALSE(values_.has(0)) << "a group that takes no part";
}

TEST_F(Evaluating, a_body_is_valid_json_or_not) {
  const Check valid = check(Check::Subject::kJson, Comparison::kValid);
  EXPECT_TRUE(holds(valid, response(200, R"({"a": [1, 2]})")));
  EXPECT_FALSE(holds(valid, response(200, R"({"a": [1, 2})")));
  EXPECT_FALSE(holds(valid, response(200, R"({"a": 1} x)")));
  EXPECT_FALSE(holds(valid, response(200, "")));
}

TEST_F(Evaluating, texts_that_are_numbers_are_ordered_as_numbers) {
  Check count = check(Check::Subject::kHeader, Comparison::kGreater, {std::string("9")});
  count.header = "X-Count";
  EXPECT_TRUE(holds(count, response(200, "", "X-Count: 10\r\n")));
  EXPECT_FALSE(holds(count, response(200, "", "X-Count: 8.5\r\n")));
}

TEST_F(Evaluating, a_rendered_value_is_what_its_text_says) {
  const auto json = [&](Comparison comparison) {
    Check made = check(Check::Subject::kJson, comparison, {slot(0)});
    made.path = key("v");
    return made;
  };
  const auto with = [&](const char* text, const Check& one, const http1::Response& given) {
    values_.set(0, text);
    return holds(one, given);
  };
  EXPECT_TRUE(with("5", json(Comparison::kEqual), response(200, R"({"v": 5.0})")));
  EXPECT_TRUE(with("5", json(Comparison::kEqual), response(200, R"({"v": "5"})")));
  EXPECT_FALSE(with("6", json(Comparison::kEqual), response(200, R"({"v": 5})")));
  EXPECT_TRUE(with("true", json(Comparison::kEqual), response(200, R"({"v": true})")));
  EXPECT_TRUE(with("null", json(Comparison::kEqual), response(200, R"({"v": null})")));
  EXPECT_TRUE(with("5", json(Comparison::kNotEqual), response(200, R"({"v": 6})")));
  EXPECT_TRUE(with("b", check(Check::Subject::kBody, Comparison::kContains, {slot(0)}), response(200, "abc")));
  EXPECT_TRUE(with("404", check(Check::Subject::kStatus, Comparison::kEqual, {slot(0)}), response(404, "")));
  EXPECT_TRUE(with("1KiB", check(Check::Subject::kBodySize, Comparison::kLess, {slot(0)}), response(200, "abc")));
  EXPECT_TRUE(with("6ms", check(Check::Subject::kDuration, Comparison::kLess, {slot(0)}), response(200, "")));
  EXPECT_FALSE(with("5ms", check(Check::Subject::kDuration, Comparison::kLess, {slot(0)}), response(200, "")));
  EXPECT_FALSE(with("soon", check(Check::Subject::kStatus, Comparison::kNotEqual, {slot(0)}), response(200, "")))
      << "a check that needs a number and has none fails";
  values_.clear();
  EXPECT_FALSE(holds(json(Comparison::kNotEqual), response(200, R"({"v": 6})"))) << "the value is missing";
}

TEST_F(Evaluating, a_check_may_compare_with_what_its_own_step_extracts) {
  plan::Extract extract;
  extract.path = key("a");
  step_.extracts = {extract};
  Check same = check(Check::Subject::kJson, Comparison::kEqual, {slot(0)});
  same.path = key("b");
  EXPECT_TRUE(holds(same, response(200, R"({"a": 1, "b": 1})")));
  EXPECT_FALSE(holds(same, response(200, R"({"a": 1, "b": 2})")));
}

TEST_F(Evaluating, a_status_may_be_allowed_by_a_rendered_value) {
  step_.checks = {check(Check::Subject::kStatus, Comparison::kEqual, {slot(0)})};
  values_.set(0, "404");
  const RenderContext context{values_, 7, 0, WallTime{}, prng_};
  Evaluator evaluator(step_, readers_);
  EXPECT_TRUE(evaluator.needs_context());
  EXPECT_FALSE(evaluator.is_failure(response(404, ""), &context));
  EXPECT_TRUE(evaluator.is_failure(response(500, ""), &context));
  step_.checks = {check(Check::Subject::kStatus, Comparison::kEqual, {404.0})};
  EXPECT_FALSE(Evaluator(step_, readers_).needs_context());
}

TEST_F(Evaluating, pages_are_checked_by_xpath) {
  const auto xpath = [&](const char* expression, Comparison comparison, std::vector<plan::Literal> any_of = {}) {
    Check made = check(Check::Subject::kXpath, comparison, std::move(any_of));
    made.pattern = expression;
    return made;
  };
  const std::string page = "<h1>\n Shop </h1><ul><li>1<li>12</ul>";
  EXPECT_TRUE(holds(xpath("//h1", Comparison::kEqual, {std::string("Shop")}), response(200, page)));
  EXPECT_FALSE(holds(xpath("//h1", Comparison::kEqual, {std::string("Sho")}), response(200, page)));
  EXPECT_TRUE(holds(xpath("//h1", Comparison::kMatches, {std::string("^S.*p$")}), response(200, page)));
  EXPECT_TRUE(holds(xpath("//li[2]", Comparison::kGreater, {9.0}), response(200, page)));
  EXPECT_TRUE(holds(xpath("//h2", Comparison::kAbsent), response(200, page)));
  EXPECT_FALSE(holds(xpath("//h2", Comparison::kExists), response(200, page)));
  EXPECT_FALSE(holds(xpath("//h2", Comparison::kNotEqual, {std::string("x")}), response(200, page)));
  EXPECT_FALSE(holds(xpath("//h2", Comparison::kAbsent), response(200, ""))) << "there is no page";
  Check items = xpath("//li", Comparison::kEqual, {2.0});
  items.counts = true;
  EXPECT_TRUE(holds(items, response(200, page)));
  EXPECT_FALSE(holds(items, response(200, page + "<li>")));
}

TEST_F(Evaluating, the_number_of_values_is_compared) {
  Check ids = check(Check::Subject::kJson, Comparison::kGreaterEqual, {2.0});
  ids.path = plan::parse_json_path("$..id").value();
  ids.counts = true;
  EXPECT_TRUE(holds(ids, response(200, R"({"a": [{"id": 1}, {"id": 2}]})")));
  EXPECT_FALSE(holds(ids, response(200, R"({"a": [{"id": 1}]})")));
  ids.comparison = Comparison::kEqual;
  ids.any_of = {0.0};
  EXPECT_TRUE(holds(ids, response(200, "[]")));
  EXPECT_FALSE(holds(ids, response(200, "[1"))) << "it is no JSON";
}

TEST_F(Evaluating, an_extraction_takes_one_or_all_of_several_values) {
  const std::string body = R"({"a": [{"id": 1.5}, {"id": "x\"y"}, {"id": [true, null]}], "b": {"id": {}}})";
  const auto taken = [&](plan::Take take, const std::string& from) {
    plan::Extract extract;
    extract.path = plan::parse_json_path("$.a[*].id").value();
    extract.take = take;
    step_.extracts = {extract};
    evaluate(response(200, from));
    return values_.has(0) ? std::string(values_.get(0)) : "(none)";
  };
  EXPECT_EQ(taken(plan::Take::kAll, body), R"([1.5,"x\"y",[true,null]])");
  EXPECT_EQ(taken(plan::Take::kCount, body), "3");
  EXPECT_EQ(taken(plan::Take::kFirst, body), "1.5");
  std::set<std::string> drawn;
  for (int i = 0; i < 100; ++i) drawn.insert(taken(plan::Take::kRandom, body));
  EXPECT_EQ(drawn, (std::set<std::string>{"1.5", "x\"y", "[true, null]"}));
  EXPECT_EQ(taken(plan::Take::kAll, "{}"), "[]");
  EXPECT_EQ(taken(plan::Take::kCount, "{}"), "0");
  EXPECT_EQ(taken(plan::Take::kRandom, "{}"), "(none)");
  EXPECT_EQ(taken(plan::Take::kAll, "{"), "(none)");
}

TEST_F(Evaluating, of_a_path_of_several_values_the_first_counts) {
  Check cheap = check(Check::Subject::kJson, Comparison::kLess, {10.0});
  cheap.path = plan::parse_json_path("$.items[?@.stock > 0].price").value();
  const std::string body =
      R"({"items": [{"stock": 0, "price": 50}, {"stock": 2, "price": 9}, {"stock": 1, "price": 90}]})";
  EXPECT_TRUE(holds(cheap, response(200, body)));
  cheap.comparison = Comparison::kAbsent;
  cheap.any_of.clear();
  EXPECT_FALSE(holds(cheap, response(200, body)));
  EXPECT_TRUE(holds(cheap, response(200, R"({"items": []})")));
  plan::Extract extract;
  extract.path = plan::parse_json_path("$..price").value();
  step_.checks.clear();
  step_.extracts = {extract};
  evaluate(response(200, body));
  EXPECT_EQ(values_.get(0), "50");
}

}  // namespace
}  // namespace bellwether::vuser
