#include "load/plan/load.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

// A scenario of one workflow with these steps, which begin in column 7.
std::string with_steps(const std::string& steps) {
  return "defaults: {http: {base: \"http://host:8080\"}}\nworkflows:\n  browse:\n    vus: 2\n    duration: 1s\n"
         "    steps:\n" +
         steps;
}

TEST(Load, a_minimal_scenario_is_a_plan) {
  const Plan plan = plan_from("workflows: {w: {vus: 3, duration: 10s, steps: {home: {http: {get: 'http://host'}}}}}");
  EXPECT_EQ(plan.name, "shop");
  ASSERT_EQ(plan.workflows.size(), 1u);
  const auto& executor = std::get<ConstantVus>(plan.workflows[0].executor);
  EXPECT_EQ(executor.vus, 3u);
  EXPECT_EQ(executor.duration, Duration::seconds(10));
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].name, "w.home");
  EXPECT_TRUE(plan.steps[0].measured);
  EXPECT_EQ(call_of(plan, 0).method, "GET");
  EXPECT_EQ(show(call_of(plan, 0).url), "http://host/");
  EXPECT_FALSE(call_of(plan, 0).body);
}

TEST(Load, steps_are_ordered_by_what_they_come_after) {
  const Plan plan = plan_from(with_steps(R"yaml(
      list: {http: {get: /items}}
      pay:  {after: [item, cart], http: {post: /pay}}
      item: {after: [list], http: {get: "/items/${list.json.$[0].id}"}}
      cart: {after: list, http: {get: /cart}}
)yaml"));
  const Order& order = plan.workflows[0].order;
  EXPECT_EQ(order.steps, (std::vector<uint16_t>{0, 2, 3, 1}));
  EXPECT_EQ(order.first, std::vector<uint16_t>{0});
  EXPECT_EQ(order.width, 2u);
  EXPECT_FALSE(order.is_chain);
  EXPECT_EQ(plan.workflows[0].steps[0].then, (std::vector<uint16_t>{2, 3}));
}

TEST(Load, a_mention_of_a_response_becomes_one_extract_of_its_step) {
  const Plan plan = plan_from(with_steps(R"yaml(
      list: {http: {get: /items}}
      a: {after: [list], http: {get: "/items/${list.json.$[0].id}", headers: {X-Etag: "${list.header.ETag}"}}}
      b: {after: [list], http: {post: /b, body: "${list.json.$[0].id} ${list.status} ${ list.body }"}}
)yaml"));
  const Workflow& workflow = plan.workflows[0];
  ASSERT_EQ(workflow.steps[0].extracts.size(), 4u);
  EXPECT_EQ(workflow.slot_count, 4);
  EXPECT_EQ(workflow.slot_names,
            (std::vector<std::string>{"list.json.$[0].id", "list.header.ETag", "list.status", "list.body"}));
  EXPECT_EQ(workflow.steps[0].extracts[0].path.text, "$[0].id");
  EXPECT_EQ(workflow.steps[0].extracts[1].header, "ETag");
  EXPECT_EQ(show(call_of(plan, 1).url), "http://host:8080/items/{slot 0|url}");
  EXPECT_EQ(show(call_of(plan, 1).headers.at(0).value), "{slot 1|header}");
  EXPECT_EQ(show(*call_of(plan, 2).body), "{slot 0} {slot 2} {slot 3}");
}

TEST(Load, extracted_values_are_found_by_name_and_by_step) {
  const Plan plan = plan_from(with_steps(R"yaml(
      login:
        http: {post: /login, json: {user: "u"}}
        extract:
          token: {json: $.token}
          code: {regex: "code=(\\d+)", default: "0"}
          all: {regex: "(a)(b)", group: 2}
          kind: {header: Content-Type}
          text: {body: true}
          status_code: {status: true}
      use: {after: [login], http: {get: "/${token}/${login.code}"}}
)yaml"));
  const std::vector<Extract>& extracts = plan.workflows[0].steps[0].extracts;
  ASSERT_EQ(extracts.size(), 6u);
  EXPECT_EQ(extracts[0].path.steps.at(0).key, "token");
  EXPECT_EQ(extracts[1].pattern, "code=(\\d+)");
  EXPECT_EQ(extracts[1].group, 1);
  EXPECT_EQ(extracts[1].fallback, "0");
  EXPECT_EQ(extracts[2].group, 2);
  EXPECT_EQ(extracts[3].header, "Content-Type");
  EXPECT_EQ(extracts[4].source, Extract::Source::kBody);
  EXPECT_EQ(extracts[5].source, Extract::Source::kStatus);
  EXPECT_EQ(show(call_of(plan, 1).url), "http://host:8080/{slot 0|url}/{slot 1|url}");
}

TEST(Load, json_bodies_keep_types_and_escape_what_is_put_in) {
  TestSources sources("env: {QUOTE: 'a\"b'}\n" + with_steps(R"yaml(
      first: {http: {get: /}, extract: {id: {json: $.id}}}
      post:
        after: first
        http:
          post: /login
          json:
            user: "${QUOTE}"
            id: ${id}
            list: [1, 2.5, true, null, "7", 007, {}]
            "${vu}": "line\nbreak"
)yaml"));
  const Plan plan = plan_from(sources);
  EXPECT_EQ(show(*call_of(plan, 1).body),
            R"json({"user":"a\"b","id":"{slot 0|json}","list":[1,2.5,true,null,"7","007",{}],)json"
            R"json("{vu|json}":"line\nbreak"})json");
  ASSERT_EQ(call_of(plan, 1).headers.size(), 1u);
  EXPECT_EQ(call_of(plan, 1).headers[0].name, "Content-Type");
  EXPECT_EQ(call_of(plan, 1).headers[0].value.text(), "application/json");
}

TEST(Load, queries_and_forms_are_percent_encoded) {
  const Plan plan = plan_from(with_steps(R"yaml(
      search:
        http: {get: "/find me?lang=de#top", query: {q: "a b&c", tag: [x, "${vu}"]}}
      form: {http: {post: /form, form: {"full name": "Jo & Co", n: "${iteration}"}}}
)yaml"));
  EXPECT_EQ(show(call_of(plan, 0).url), "http://host:8080/find%20me?lang=de&q=a%20b%26c&tag=x&tag={vu|url}");
  EXPECT_EQ(show(*call_of(plan, 1).body), "full%20name=Jo%20%26%20Co&n={iteration|url}");
  EXPECT_EQ(call_of(plan, 1).headers.at(0).value.text(), "application/x-www-form-urlencoded");
}

TEST(Load, bodies_come_from_files) {
  TestSources sources(with_steps(R"yaml(
      plain: {http: {post: /, body: {file: pay.json}}}
      filled: {http: {post: /, body: {file: pay.json, template: true}}}
)yaml"));
  sources.world.files["pay.json"] = "{\"by\": \"${vu}\"}";
  const Plan plan = plan_from(sources);
  EXPECT_EQ(call_of(plan, 0).body->text(), "{\"by\": \"${vu}\"}");
  EXPECT_EQ(show(*call_of(plan, 1).body), "{\"by\": \"{vu}\"}");
}

TEST(Load, options_of_a_step_win_over_the_defaults) {
  TestSources sources(R"yaml(
defaults:
  http:
    base: http://host/api/
    headers: {Accept: application/json, X-Team: blue}
    timeout: 5s
    redirects: 3
    tls: {verify: false}
    body_max: 1MiB
workflows:
  w:
    vus: 1
    duration: 1s
    steps:
      a: {http: {get: /x}}
      b:
        http: {method: purge, url: y, headers: {accept: text/html}, timeout: 1s, redirects: 0, compressed: true,
               connect_timeout: 2s, tls_timeout: 3s, first_byte_timeout: 4s, tls: {verify: true, ca: ca.pem}}
)yaml");
  sources.file_name = "load/shop.yaml";
  sources.world.files["ca.pem"] = "-----BEGIN CERTIFICATE-----\n";
  const Plan plan = plan_from(sources);
  const HttpCall& a = call_of(plan, 0);
  EXPECT_EQ(a.url.text(), "http://host/api/x");
  EXPECT_EQ(a.timeout, Duration::seconds(5));
  EXPECT_EQ(a.redirects_max, 3);
  EXPECT_FALSE(a.tls.verify);
  EXPECT_EQ(a.body_bytes_max, 1u << 20);
  EXPECT_EQ(a.headers.size(), 2u);
  const HttpCall& b = call_of(plan, 1);
  EXPECT_EQ(b.method, "PURGE");
  EXPECT_EQ(b.url.text(), "http://host/api/y");
  EXPECT_EQ(b.timeout, Duration::seconds(1));
  EXPECT_EQ(b.connect_timeout, Duration::seconds(2));
  EXPECT_EQ(b.tls_timeout, Duration::seconds(3));
  EXPECT_EQ(b.first_byte_timeout, Duration::seconds(4));
  EXPECT_EQ(b.redirects_max, 0);
  EXPECT_TRUE(b.compressed);
  EXPECT_TRUE(b.tls.verify);
  EXPECT_EQ(b.tls.ca.name, "load/ca.pem");
  ASSERT_NE(b.tls.ca.text, nullptr);
  EXPECT_EQ(*b.tls.ca.text, "-----BEGIN CERTIFICATE-----\n");
  EXPECT_EQ(a.tls.ca.text, nullptr) << "the certificates of the system";
  ASSERT_EQ(b.headers.size(), 2u);
  EXPECT_EQ(b.headers[0].name, "X-Team");
  EXPECT_EQ(b.headers[1].value.text(), "text/html");
}

TEST(Load, checks_are_named_and_numbered) {
  const Plan plan = plan_from(with_steps(R"yaml(
      a:
        http: {get: /}
        check:
          status: [200, 304]
          body: {contains: ok, not: bad}
          size: {lte: 1KiB}
          json: {$.token: {exists: true}, "$.items[0].id": 7, $.gone: {exists: false}, $.kind: {matches: "^a+$"}}
          header: {Content-Type: application/json}
          duration: {lt: 200ms}
      b: {http: {get: /}, check: {status: {gte: 200, lt: 300, not: [204, 205]}}}
)yaml"));
  std::vector<std::string> names;
  for (const CheckInfo& check : plan.checks) names.push_back(check.name);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "status is 200 or 304", "body contains 'ok'", "body is not 'bad'", "size <= 1024",
                       "json $.token exists", "json $.items[0].id is 7", "json $.gone is absent",
                       "json $.kind matches '^a+$'", "header Content-Type is 'application/json'", "duration < 200ms",
                       "status >= 200", "status < 300", "status is not 204", "status is not 205"}));
  EXPECT_EQ(plan.checks[10].step, 1);
  const std::vector<Check>& checks = plan.workflows[0].steps[0].checks;
  ASSERT_EQ(checks.size(), 10u);
  EXPECT_EQ(checks[0].any_of, (std::vector<Literal>{200.0, 304.0}));
  EXPECT_EQ(checks[3].any_of, (std::vector<Literal>{1024.0}));
  EXPECT_EQ(checks[4].comparison, Comparison::kExists);
  EXPECT_EQ(checks[6].comparison, Comparison::kAbsent);
  EXPECT_EQ(checks[5].path.steps.size(), 3u);
  EXPECT_EQ(checks[9].any_of, (std::vector<Literal>{200.0}));
  EXPECT_EQ(plan.workflows[0].steps[1].checks[3].id, 13);
}

TEST(Load, checks_of_pages_counts_and_templates) {
  const Plan plan = plan_from(with_steps(R"yaml(
      a: {http: {get: /}, extract: {want: {json: $.want}}}
      b:
        after: a
        http: {get: /}
        check:
          status: "${want}"
          css: {h1: Shop, "li a": {attribute: href, matches: "^/"}, li: {count: {gte: 2, lt: 9}, gt: 5}}
          xpath: {//p: {count: [1, 2]}}
          json: {$..id: {count: 3}, $.own: "${b.json.$.other}", $.list: ["${want}", 7]}
        extract: {all: {json: "$..id", pick: all}, one: {css: li, pick: random}, n: {xpath: //li, pick: count}}
)yaml"));
  std::vector<std::string> names;
  for (const CheckInfo& check : plan.checks) names.push_back(check.name);
  EXPECT_EQ(names, (std::vector<std::string>{"status is '${want}'", "css h1 is 'Shop'", "css li a @href matches '^/'",
                                             "css li count >= 2", "css li count < 9", "css li > 5",
                                             "xpath //p count is 1 or 2", "json $..id count is 3",
                                             "json $.own is '${b.json.$.other}'", "json $.list is '${want}' or 7"}));
  const Step& step = plan.workflows[0].steps[1];
  EXPECT_EQ(step.checks[2].pattern, "//li//a/@href");
  EXPECT_TRUE(step.checks[3].counts);
  EXPECT_FALSE(step.checks[5].counts);
  EXPECT_EQ(step.checks[5].any_of, std::vector<Literal>{5.0});
  EXPECT_EQ(show(std::get<Template>(step.checks[8].any_of[0])), "{slot 4}") << "of its own response";
  EXPECT_EQ(step.extracts.back().take, Take::kCount);
}

TEST(Load, an_arrival_rate_is_read_in_our_words_and_in_those_of_k6) {
  const Plan plan = plan_from(R"yaml(
workflows:
  ours: {executor: constant-arrival-rate, rate: 30/m, duration: 30s, vus: {preallocated: 50, max: 200}, max_wait: 1s,
         rebalance: true, start_time: 5s, graceful_stop: 0, steps: {a: {http: {get: "http://h/"}}}}
  k6: {executor: constant-arrival-rate, rate: 500, timeUnit: 2s, duration: 30s, preAllocatedVUs: 50, maxVUs: 60,
       startTime: 1m, gracefulStop: 3s, steps: {a: {http: {get: "http://h/"}}}}
)yaml");
  const auto& ours = std::get<ArrivalRate>(plan.workflows[0].executor);
  EXPECT_DOUBLE_EQ(ours.stages.at(0).to_per_s, 0.5);
  EXPECT_EQ(ours.users.preallocated, 50u);
  EXPECT_EQ(ours.users.most, 200u);
  EXPECT_EQ(ours.users.wait_max, Duration::seconds(1));
  EXPECT_TRUE(ours.users.rebalance);
  EXPECT_EQ(plan.workflows[0].start_time, Duration::seconds(5));
  EXPECT_EQ(plan.workflows[0].graceful_stop, Duration::zero());
  const auto& k6 = std::get<ArrivalRate>(plan.workflows[1].executor);
  EXPECT_DOUBLE_EQ(k6.stages.at(0).from_per_s, 250);
  EXPECT_EQ(k6.users.most, 60u);
  EXPECT_EQ(k6.users.wait_max, Duration::zero());
  EXPECT_FALSE(k6.users.rebalance);
  EXPECT_EQ(plan.workflows[1].start_time, Duration::minutes(1));
  EXPECT_EQ(plan.workflows[1].graceful_stop, Duration::seconds(3));
}

TEST(Load, how_long_a_run_may_take_and_what_follows) {
  const Plan plan = plan_from(R"yaml(
timeout: 2h
workflows:
  a: {vus: 1, duration: 1s, on_overtime: pause, steps: {s: {http: {get: "http://h/"}}}}
  b: {vus: 1, duration: 1s, timeout: 10m, steps: {s: {http: {get: "http://h/"}}}}
)yaml");
  EXPECT_EQ(plan.timeout, Duration::hours(2));
  EXPECT_EQ(plan.workflows[0].timeout, std::nullopt);
  EXPECT_EQ(plan.workflows[1].timeout, Duration::minutes(10));
  EXPECT_EQ(plan.workflows[0].on_overtime, OnOvertime::kPause);
  EXPECT_EQ(plan.workflows[1].on_overtime, OnOvertime::kKill);
  EXPECT_EQ(plan_from("workflows: {a: {vus: 1, duration: 1s, steps: {s: {http: {get: \"http://h/\"}}}}}").timeout,
            std::nullopt);
}

TEST(Load, a_workflow_without_a_test_step_runs_once) {
  const Plan plan = plan_from("workflows: {warm: {steps: {prepare: {action: {set: {started: \"${now}\"}}}}}}");
  EXPECT_TRUE(std::holds_alternative<Once>(plan.workflows[0].executor));
  const auto& action = std::get<SetAction>(plan.workflows[0].steps[0].work);
  ASSERT_EQ(action.assignments.size(), 1u);
  EXPECT_EQ(show(action.assignments[0].value), "{now}");
  EXPECT_EQ(plan.workflows[0].slot_names.at(action.assignments[0].slot), "prepare.started");
  EXPECT_FALSE(plan.steps[0].measured);
}

TEST(Load, think_pacing_and_on_error_are_taken_over) {
  const Plan plan = plan_from(R"yaml(
workflows:
  w:
    vus: 1
    duration: 1m
    pacing: 2s
    steps:
      a: {http: {get: "http://h/"}, think: 200ms..1s, on_error: end-vu}
      b: {http: {get: "http://h/"}, think: 1s}
on_loss: fail
)yaml");
  EXPECT_EQ(std::get<ConstantVus>(plan.workflows[0].executor).pacing, Delay::of(Duration::seconds(2)));
  const Step& a = plan.workflows[0].steps[0];
  EXPECT_EQ(a.think->low, Duration::millis(200));
  EXPECT_EQ(a.think->high, Duration::seconds(1));
  EXPECT_EQ(a.on_error, OnError::kEndVu);
  EXPECT_EQ(plan.workflows[0].steps[1].think->low, plan.workflows[0].steps[1].think->high);
  EXPECT_EQ(plan.on_loss, OnLoss::kFail);
}

TEST(Load, thresholds_are_resolved) {
  const Plan plan = plan_from(R"yaml(
workflows:
  browse: {vus: 1, duration: 1s, steps: {pay: {http: {get: "http://h/"}, check: {status: 200}}}}
  other: {vus: 1, duration: 1s, steps: {a: {http: {get: "http://h/"}, check: {status: 200}}}}
thresholds:
  http_req_failed: ["rate<0.01"]
  "http_req_duration{step:browse.pay}":
    - p(95)<300
    - {threshold: " p(99.9) <= 800.5 ", abortOnFail: true, delayAbortEval: 10s}
  "checks{check:status is 200, step:a}": "rate==1"
  "iterations{scenario:other}": [count>=10]
)yaml");
  ASSERT_EQ(plan.thresholds.size(), 5u);
  EXPECT_EQ(plan.thresholds[0].metric, "http_req_failed");
  EXPECT_EQ(plan.thresholds[0].aggregation, Aggregation::kRate);
  EXPECT_EQ(plan.thresholds[0].op, Op::kLess);
  EXPECT_DOUBLE_EQ(plan.thresholds[0].value, 0.01);
  EXPECT_EQ(plan.thresholds[1].step, 0);
  EXPECT_EQ(plan.thresholds[1].metric_text, "http_req_duration{step:browse.pay}");
  EXPECT_DOUBLE_EQ(plan.thresholds[1].percentile, 95);
  EXPECT_DOUBLE_EQ(plan.thresholds[2].percentile, 99.9);
  EXPECT_DOUBLE_EQ(plan.thresholds[2].value, 800.5);
  EXPECT_EQ(plan.thresholds[2].op, Op::kLessEqual);
  EXPECT_TRUE(plan.thresholds[2].abort_on_fail);
  EXPECT_EQ(plan.thresholds[2].delay_abort_eval, Duration::seconds(10));
  EXPECT_EQ(plan.thresholds[3].check, 1);
  EXPECT_EQ(plan.thresholds[4].workflow, 1);
}

class Examples : public testing::TestWithParam<std::string> {};

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_P(Examples, are_valid) {
  TestSources sources(content_of("examples/" + GetParam()));
  sources.world.files["pay.json"] = content_of("examples/pay.json");
  EXPECT_EQ(sources.errors(), "");
}
INSTANTIATE_TEST_SUITE_P(All, Examples, testing::Values("first.yaml", "login.yaml", "arrival.yaml", "dag.yaml"));

TEST(Load, aliases_are_copied) {
  const Plan plan = plan_from(R"yaml(
workflows:
  w:
    vus: 1
    duration: 1s
    steps:
      a: {http: {get: "http://h/", headers: &h {X-A: "1"}}}
      b: {http: {get: "http://h/", headers: *h}}
)yaml");
  EXPECT_EQ(call_of(plan, 1).headers.at(0).name, "X-A");
}

TEST(Load, json_paths_of_several_values_may_stand_wherever_paths_may) {
  const Plan plan = plan_from(with_steps(R"yaml(
      a:
        http: {get: /}
        check: {json: {"$.items[?@.price < 10 && @.tag == 'x}y'].id": {exists: true}, "$..id": 7}}
        extract: {first: {json: "$.items[*].id"}}
      b: {after: a, http: {get: "/${a.json.$..id}/${a.json.$.items[?length(@.name) > 2].id}"}}
      c: {http: {get: /}, check: {json: valid}}
)yaml"));
  const std::vector<Step>& steps = plan.workflows[0].steps;
  ASSERT_EQ(steps[0].checks.size(), 2u);
  for (const Check& check : steps[0].checks) EXPECT_NE(check.path.many, nullptr) << check.path.text;
  ASSERT_EQ(steps[0].extracts.size(), 3u);
  for (const Extract& extract : steps[0].extracts) EXPECT_NE(extract.path.many, nullptr) << extract.path.text;
  EXPECT_EQ(steps[2].checks.at(0).comparison, Comparison::kValid);
  EXPECT_EQ(plan.checks.back().name, "json is valid");
}

}  // namespace
}  // namespace bellwether::plan
