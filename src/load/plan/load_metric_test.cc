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

}  // namespace
}  // namespace bellwether::plan
