// The scenario's own metrics, and what steps record of them.
#include <gmock/gmock.h>

#include "load/plan/load_testing.h"
#include "load/plan/metric.h"

namespace bellwether::plan {
namespace {

using testing::HasSubstr;

std::string shop(const std::string& metrics, const std::string& steps, const std::string& more = "") {
  return "metrics: " + metrics + "\nworkflows: {w: {vus: 1, duration: 1s, steps: " + steps + "}}\n" + more;
}
constexpr const char* kOrder = "order: {http: {get: 'http://h/'}, metric: {orders: 1, total: '${order.json.$.t}'}}";

TEST(LoadMetric, a_step_records_after_its_own_response) {
  TestSources sources(shop("{orders: counter, total: {kind: trend, unit: ms}}",
                           "{" + std::string(kOrder) + ", after: {after: order, metric: {orders: 'true'}}}"));
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  ASSERT_EQ(plan->metrics.size(), 2u);
  EXPECT_EQ(plan->metrics[0].kind, MetricKind::kCounter);
  EXPECT_TRUE(plan->metrics[1].is_time());
  ASSERT_EQ(plan->series.size(), 3u);
  const Step& order = plan->workflows[0].steps[0];
  ASSERT_EQ(order.records.size(), 2u);
  EXPECT_EQ(order.records[0].constant, 1);
  EXPECT_EQ(order.records[1].constant, std::nullopt);
  EXPECT_EQ(show(order.records[1].value), "{slot 0}");
  ASSERT_EQ(order.extracts.size(), 1u) << "so that the value is there";
  const Step& after = plan->workflows[0].steps[1];
  EXPECT_TRUE(std::holds_alternative<SetAction>(after.work));
  EXPECT_FALSE(plan->steps[1].measured);
  EXPECT_EQ(plan->series[after.records[0].series].step, 1);
  EXPECT_EQ(after.records[0].constant, 1) << "true";
}

TEST(LoadMetric, a_step_that_only_records_has_no_response) {
  TestSources sources(shop("{a: gauge}", "{s: {metric: {a: 1}, check: {status: 200}}}"));
  EXPECT_THAT(sources.errors(), HasSubstr("'check' in step 'w.s' needs a response, and a step without a request"));
}

TEST(LoadMetric, a_program_may_record_all_of_them) {
  TestSources sources(shop("{a: gauge, b: rate}", "{s: {lua: {file: s.lua, call: f}, metric: {b: 1}}}"));
  sources.world.files["s.lua"] = "function f() end";
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  const auto& call = std::get<CodeCall>(plan->workflows[0].steps[0].work);
  ASSERT_EQ(call.metrics.size(), 2u);
  EXPECT_EQ(call.metrics[1].name, "b");
  EXPECT_EQ(plan->series.size(), 2u);
  EXPECT_EQ(plan->workflows[0].steps[0].records[0].series, call.metrics[1].series) << "of one step and metric only one";
}

TEST(LoadMetric, thresholds_know_them_and_their_steps) {
  const auto errors = [&](const std::string& thresholds) {
    TestSources sources(shop("{orders: counter, total: trend}",
                             "{" + std::string(kOrder) + ", other: {http: {get: 'http://h/'}}}",
                             "thresholds: {" + thresholds + "}"));
    return sources.errors();
  };
  EXPECT_EQ(errors("orders: ['count>1'], 'total{step:w.order}': ['p(95)<3']"), "");
  EXPECT_THAT(errors("orders: ['p(95)<1']"), HasSubstr("does not fit metric 'orders'"));
  EXPECT_THAT(errors("oders: ['count>1']"), HasSubstr("did you mean 'orders'?"));
  EXPECT_THAT(errors("'orders{step:w.other}': ['count>1']"), HasSubstr("unknown step 'w.other'"));
}

TEST(LoadMetric, what_is_wrong_is_told) {
  const auto errors = [](const std::string& metrics, const std::string& record) {
    TestSources sources(shop(metrics, "{s: {http: {get: 'http://h/'}, metric: " + record + "}}"));
    return sources.errors();
  };
  EXPECT_THAT(errors("{http_reqs: counter}", "{http_reqs: 1}"), HasSubstr("'http_reqs' is a metric of every run"));
  EXPECT_THAT(errors("{a-b: counter}", "{a: 1}"), HasSubstr("'a-b' cannot be the name of a metric"));
  EXPECT_THAT(errors("{a: count}", "{a: 1}"), HasSubstr("one of counter, gauge, rate, trend"));
  EXPECT_THAT(errors("{a: {unit: ms}}", "{a: 1}"), HasSubstr("'kind' is missing"));
  EXPECT_THAT(errors("{a: counter}", "{a: many}"), HasSubstr("wrong value of metric 'a'"));
  EXPECT_THAT(errors("{alpha: counter}", "{alhpa: 1}"), HasSubstr("did you mean 'alpha'?"));
  EXPECT_THAT(errors("{a: counter}", "{}"), HasSubstr("such as {orders: 1}"));
  TestSources none("workflows: {w: {steps: {s: {metric: {orders: 1}}}}}");
  EXPECT_THAT(none.errors(), HasSubstr("metrics are declared first: metrics: {orders: counter}"));
}

TEST(LoadMetric, values_are_numbers_or_true_or_false) {
  EXPECT_EQ(metric_value(" 1.5 "), 1.5);
  EXPECT_EQ(metric_value("true"), 1);
  EXPECT_EQ(metric_value("false"), 0);
  EXPECT_EQ(metric_value("-2e3"), -2000);
  for (const char* wrong : {"", "yes", "1 2", "0x10x"}) EXPECT_EQ(metric_value(wrong), std::nullopt) << wrong;
}

// --- thresholds on a part of the requests ----------------------------------------------------------------------------

constexpr const char* kRequests = R"(env: {HOST: "http://h"}
defaults: {http: {base: "http://h/api"}}
workflows:
  w:
    vus: 1
    duration: 1s
    steps:
      list: {http: {get: /items, query: {n: 5}}}
      item: {after: list, http: {get: "/items/${list.json.$.id}"}, tags: {name: one}}
      buy: {http: {post: "${HOST}/buy"}}
      code: {lua: {file: s.lua, call: f, requests: [login]}}
      quiet: {action: {http: {get: /quiet}}}
thresholds: )";

std::string of_requests(const std::string& thresholds) { return kRequests + ("{" + thresholds + "}\n"); }

TEST(LoadThreshold, selects_steps_by_the_facts_of_their_requests) {
  const auto selected = [](const std::string& selector) {
    TestSources sources(of_requests("'http_reqs{" + selector + "}': ['count>0']"));
    sources.world.files["s.lua"] = "function f() end";
    const auto plan = sources.load();
    if (!plan) return sources.errors();
    std::string out;
    for (std::size_t s = 0; s < plan->steps.size(); ++s) {
      if (selects_step(*plan, s, {}, {}, plan->thresholds[0].tags)) out += plan->steps[s].name + " ";
    }
    return out;
  };
  EXPECT_EQ(selected("method:GET"), "w.list w.item ");
  EXPECT_EQ(selected("method:POST"), "w.buy ");
  EXPECT_EQ(selected("url:/items"), "w.list ") << "as written";
  EXPECT_EQ(selected("url:http://h/api/items?n=5"), "w.list ") << "as sent";
  EXPECT_EQ(selected("url:/items/${list.json.$.id}"), "w.item ") << "with its braces";
  EXPECT_EQ(selected("url:${HOST}/buy"), "w.buy ");
  EXPECT_EQ(selected("url:http://h/buy"), "w.buy ");
  EXPECT_EQ(selected("name:list"), "w.list ");
  EXPECT_EQ(selected("name:one"), "w.item ") << "its own name replaces that of the step";
  EXPECT_EQ(selected("name:login"), "w.login ");
  EXPECT_EQ(selected("method:GET,name:one"), "w.item ");
  EXPECT_THAT(selected("name:item"), HasSubstr("unknown value of tag 'name': 'item'"));
  EXPECT_THAT(selected("url:/quiet"), HasSubstr("unknown value of tag 'url': '/quiet'"));
  EXPECT_THAT(selected("method:PUT"), HasSubstr("expected: one of GET, POST"));
}

TEST(LoadThreshold, selects_requests_by_their_response) {
  TestSources sources(of_requests(R"('http_req_duration{expected_response:true,step:list}': ['p(95)<3'],
      'http_reqs{status:503,name:list}': ['count<5'], 'http_req_failed{status:0,method:POST}': ['rate<1'],
      'http_reqs{name:list,status:503}': ['count<9'],
      'http_req_connecting{status:503,name:list}': ['avg<9'], 'http_req_waiting{status:0,method:POST}': ['max<9'])"));
  sources.world.files["s.lua"] = "function f() end";
  const auto plan = sources.load();
  ASSERT_TRUE(plan) << sources.errors();
  EXPECT_EQ(plan->thresholds[0].response, (ResponseFilter{{}, true}));
  EXPECT_EQ(plan->thresholds[1].response, (ResponseFilter{503, {}}));
  const std::vector<Watch> expected{{0, {{}, true}},
                                    {0, {503, {}}},
                                    {0, {503, {}}, RequestTime::kConnect},
                                    {2, {0, {}}},
                                    {2, {0, {}}, RequestTime::kWait},
                                    {2, {0, false}}};
  EXPECT_EQ(plan->watches, expected) << "equal ones are one";
  TestSources none(of_requests("http_reqs: ['count>0']"));
  none.world.files = sources.world.files;
  EXPECT_TRUE(none.load()->watches.empty());
}

TEST(LoadThreshold, says_what_a_selection_by_response_can_be) {
  const auto errors = [](const std::string& selector) {
    TestSources sources(of_requests("'" + selector + "': ['rate<1']"));
    sources.world.files["s.lua"] = "function f() end";
    return sources.errors();
  };
  EXPECT_THAT(errors("http_reqs{status:5xx}"), HasSubstr("wrong value of tag 'status' in a threshold"));
  EXPECT_THAT(errors("http_reqs{status:99}"), HasSubstr("a status from 100 to 999, or 0: no response"));
  EXPECT_THAT(errors("http_reqs{expected_response:yes}"), HasSubstr("expected: true or false"));
  EXPECT_THAT(errors("data_sent{status:200}"), AllOf(HasSubstr("metric 'data_sent' has no tag 'status'"),
                                                     HasSubstr("it selects http_reqs, http_req_failed and the times")));
  TestSources taken(
      "workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: 'http://h/'}, tags: {status: x}}}}}");
  EXPECT_THAT(taken.errors(), HasSubstr("'status' cannot be the name of a tag"));
}

TEST(LoadThreshold, the_number_of_selections_is_bounded) {
  std::string steps;
  for (int i = 0; i < 200; ++i) steps += fmt::format("s{}: {{http: {{get: 'http://h/'}}}}, ", i);
  std::string thresholds;
  for (int i = 0; i < 51; ++i) thresholds += fmt::format("'http_reqs{{status:{}}}': ['count<1'], ", 200 + i);
  TestSources sources("workflows: {w: {vus: 1, duration: 1s, steps: {" + steps + "}}}\nthresholds: {" + thresholds +
                      "}");
  EXPECT_THAT(sources.errors(), HasSubstr("at most 10000 pairs of a step and a selection"));
}

TEST(LoadTags, all_steps_together_have_a_bounded_number_of_bytes) {
  const auto errors = [](int steps) {
    std::string text = "workflows:\n  w:\n    vus: 1\n    duration: 1s\n    tags: {";
    for (int i = 0; i < 20; ++i) text += fmt::format("t{}: {}, ", i, std::string(200, 'x'));
    text += "}\n    steps:\n";
    for (int i = 0; i < steps; ++i) text += fmt::format("      s{}: {{http: {{get: 'http://h/'}}}}\n", i);
    return TestSources(text).errors();
  };
  EXPECT_EQ(errors(517), "");
  EXPECT_THAT(errors(600), HasSubstr("shop.yaml:524:7: the tags of 600 steps have 2430000 bytes\n  expected: at most "
                                     "2097152 bytes, over all steps"));
}

}  // namespace
}  // namespace bellwether::plan
