
#include <gtest/gtest.h>

#include "load/aggregate/metric.h"

namespace bellwether::aggregate {
namespace {

using plan::Aggregation;
using plan::Op;

plan::Plan thresholds_shop() {
  plan::Plan plan;
  plan.workflows.resize(2);
  plan.steps = {{.workflow = 0, .index = 0, .name = "open.list", .measured = true},
                {.workflow = 0, .index = 1, .name = "open.pay", .measured = true},
                {.workflow = 1, .index = 0, .name = "closed.home", .measured = true},
                {.workflow = 1, .index = 1, .name = "closed.set", .measured = false}};
  plan.checks = {{.step = 0, .name = "status"}, {.step = 2, .name = "status"}};
  return plan;
}

// Ten seconds' worth in one window: known figures for every metric.
Totals filled(const plan::Plan& plan) {
  metrics::Window w(aggregate::shape_of(plan));
  for (std::size_t s = 0; s < 4; ++s) {
    metrics::StepWindow& step = w.steps[s];
    const auto k = static_cast<uint64_t>(s) + 1;
    step.count = 100 * k;
    step.failed = k;
    step.repeated = k + 1;
    step.bytes_sent = 10 * k;
    step.bytes_received = 1000 * k;
    step.service.record(Duration::millis(static_cast<int64_t>(k)), 100);
    step.response.answered.record(Duration::millis(static_cast<int64_t>(10 * k)), 100);
    for (int p = 0; p < metrics::kPhases; ++p) {
      step.phases[static_cast<std::size_t>(p)].record(Duration::millis(100 * (p + 1)));
    }
  }
  w.workflows[0].iterations = 40;
  w.workflows[1].iterations = 60;
  w.workflows[0].dropped = 7;
  w.workflows[0].vus_active = 5;
  w.workflows[1].vus_active = 6;
  w.workflows[0].vus_allocated = 50;
  w.workflows[1].vus_allocated = 60;
  w.workflows[0].iteration.record(Duration::seconds(2));
  w.workflows[1].iteration.record(Duration::seconds(4));
  w.checks[0] = {.passes = 9, .fails = 1};
  w.checks[1] = {.passes = 5, .fails = 5};
  Totals totals(plan);
  totals.add(w, Duration::seconds(10));
  return totals;
}

std::optional<double> value(const Totals& totals, std::string_view metric, Aggregation aggregation,
                            const Filter& filter = {}, double percentile = 0) {
  const auto seen = sample(totals, metric, filter);
  const auto figure = seen ? value_of(*seen, aggregation, percentile) : std::nullopt;
  return figure ? std::optional(figure->value) : std::nullopt;
}

struct MetricTest : testing::Test {
  const plan::Plan plan = thresholds_shop();
  Totals totals = filled(plan);
};

TEST_F(MetricTest, counters_have_a_count_and_a_rate_per_second) {
  EXPECT_EQ(value(totals, "http_reqs", Aggregation::kCount), 600) << "actions do not count";
  EXPECT_EQ(value(totals, "http_reqs", Aggregation::kRate), 60);
  EXPECT_EQ(value(totals, "data_sent", Aggregation::kCount), 60);
  EXPECT_EQ(value(totals, "data_received", Aggregation::kCount), 6000);
  EXPECT_EQ(value(totals, "http_reqs_repeated", Aggregation::kCount), 9);
  EXPECT_EQ(value(totals, "http_reqs_repeated", Aggregation::kRate), 0.9);
  EXPECT_EQ(value(totals, "http_reqs_repeated", Aggregation::kCount, {.step = 2}), 4);
  EXPECT_EQ(value(totals, "iterations", Aggregation::kCount), 100);
  EXPECT_EQ(value(totals, "dropped_iterations", Aggregation::kCount), 7);
  EXPECT_EQ(value(totals, "http_reqs", Aggregation::kAvg), std::nullopt);
}

TEST_F(MetricTest, a_rate_within_one_workflow_is_per_second_in_which_it_ran) {
  metrics::Window window(aggregate::shape_of(plan));
  window.second = 1;
  window.steps[2].count = 100;
  window.workflows[1].iterations = 40;
  window.workflows[1].ran = Duration::seconds(10);
  totals.add(window, Duration::seconds(10));
  EXPECT_EQ(value(totals, "http_reqs", Aggregation::kRate, {.step = 2}), 40);
  EXPECT_EQ(value(totals, "iterations", Aggregation::kRate, {.workflow = 1}), 10);
  EXPECT_EQ(value(totals, "http_reqs", Aggregation::kRate), 35) << "the run";
  EXPECT_EQ(value(totals, "http_reqs", Aggregation::kRate, {.step = 0}), 5) << "whose time is unknown";
  window.second = 2;
  window.workflows[1].ran = Duration::hours(1);
  totals.add(window, Duration::seconds(10));
  EXPECT_EQ(totals.elapsed(1), Duration::seconds(30)) << "no longer than was measured";
}

TEST_F(MetricTest, rates_are_shares_of_what_was_observed) {
  EXPECT_DOUBLE_EQ(*value(totals, "http_req_failed", Aggregation::kRate), 0.01);
  EXPECT_DOUBLE_EQ(*value(totals, "checks", Aggregation::kRate), 0.7);
  EXPECT_DOUBLE_EQ(*value(totals, "checks", Aggregation::kRate, {.check = 0}), 0.9);
  EXPECT_DOUBLE_EQ(*value(totals, "checks", Aggregation::kRate, {.step = 2}), 0.5);
  EXPECT_DOUBLE_EQ(*value(totals, "checks", Aggregation::kRate, {.workflow = 0}), 0.9);
}

TEST_F(MetricTest, gauges_have_their_last_and_highest_value) {
  EXPECT_EQ(value(totals, "vus_max", Aggregation::kValue), 110);
  totals.add(metrics::Window({4, 2, 2}));
  EXPECT_EQ(value(totals, "vus", Aggregation::kValue), 0);
  EXPECT_EQ(value(totals, "vus", Aggregation::kMax), 11);
  EXPECT_EQ(value(totals, "vus", Aggregation::kMax, {.workflow = 1}), 6);
}

TEST_F(MetricTest, a_dropped_arrival_does_not_lower_the_least_response_time) {
  metrics::Window window({4, 2, 2});
  window.steps[0].response.unfinished.record(Duration::millis(1));
  totals.add(window);
  EXPECT_DOUBLE_EQ(*value(totals, "http_req_duration", Aggregation::kMin), 10);
}

TEST_F(MetricTest, trends_are_milliseconds_of_merged_samples) {
  EXPECT_DOUBLE_EQ(*value(totals, "http_req_service", Aggregation::kAvg), 2);
  EXPECT_DOUBLE_EQ(*value(totals, "http_req_duration", Aggregation::kMin), 10) << "response times of all models";
  EXPECT_DOUBLE_EQ(*value(totals, "http_req_duration", Aggregation::kMax), 30);
  EXPECT_NEAR(*value(totals, "http_req_duration", Aggregation::kMed), 20, 0.02);
  EXPECT_NEAR(*value(totals, "http_req_duration", Aggregation::kPercentile, {}, 67), 30, 0.03);
  EXPECT_EQ(value(totals, "http_req_duration", Aggregation::kCount), 300);
  EXPECT_DOUBLE_EQ(*value(totals, "iteration_duration", Aggregation::kAvg), 3000);
  EXPECT_DOUBLE_EQ(*value(totals, "http_req_looking_up", Aggregation::kMax), 100);
  EXPECT_DOUBLE_EQ(*value(totals, "http_req_connecting", Aggregation::kMax), 200);
  EXPECT_DOUBLE_EQ(*value(totals, "http_req_tls_handshaking", Aggregation::kMax), 300);
  EXPECT_DOUBLE_EQ(*value(totals, "http_req_sending", Aggregation::kMax), 400);
  EXPECT_DOUBLE_EQ(*value(totals, "http_req_waiting", Aggregation::kMax), 500);
  EXPECT_DOUBLE_EQ(*value(totals, "http_req_receiving", Aggregation::kMax), 600);
}

plan::Threshold duration_threshold(Aggregation aggregation, plan::Op op, double bound, double percentile = 0) {
  return {
      .metric = "http_req_duration", .aggregation = aggregation, .percentile = percentile, .op = op, .value = bound};
}

TEST(ThresholdsTest, an_upper_limit_holds_only_if_requests_without_a_response_cannot_break_it) {
  const plan::Plan plan = thresholds_shop();
  Totals totals(plan);
  metrics::Window window(shape_of(plan));
  metrics::ResponseTimes& times = window.steps[2].response;  // of a closed model
  times.answered.record(Duration::millis(45), 50);
  times.unanswered.record(Duration::seconds(1), 50);  // timeouts
  totals.add(window);
  const auto holds = [&](Aggregation aggregation, plan::Op op, double bound, double percentile = 0) {
    return evaluate(totals, duration_threshold(aggregation, op, bound, percentile)).ok;
  };
  EXPECT_TRUE(holds(Aggregation::kPercentile, plan::Op::kLess, 46, 50));
  EXPECT_FALSE(holds(Aggregation::kPercentile, plan::Op::kLess, 300, 95));
  EXPECT_FALSE(holds(Aggregation::kPercentile, plan::Op::kLess, 5000, 95)) << "they may have taken longer";
  EXPECT_TRUE(holds(Aggregation::kPercentile, plan::Op::kGreater, 300, 95));
  EXPECT_FALSE(holds(Aggregation::kMax, plan::Op::kLess, 5000));
  EXPECT_FALSE(holds(Aggregation::kAvg, plan::Op::kLess, 5000));
  const ThresholdResult result =
      evaluate(totals, duration_threshold(Aggregation::kPercentile, plan::Op::kLess, 300, 95));
  EXPECT_TRUE(result.at_least);
  EXPECT_NEAR(*result.value, 1000, 1);
}

TEST_F(MetricTest, filters_narrow_and_impossible_ones_select_nothing) {
  EXPECT_EQ(value(totals, "http_reqs", Aggregation::kCount, {.step = 1}), 200);
  EXPECT_EQ(value(totals, "http_reqs", Aggregation::kCount, {.workflow = 0}), 300);
  EXPECT_EQ(value(totals, "http_reqs", Aggregation::kCount, {.step = 1, .workflow = 1}), 0);
  EXPECT_EQ(value(totals, "iterations", Aggregation::kCount, {.workflow = 1}), 60);
  EXPECT_EQ(value(totals, "iterations", Aggregation::kCount, {.step = 1}), std::nullopt);
  EXPECT_EQ(value(totals, "http_reqs", Aggregation::kCount, {.check = 1}), std::nullopt);
  EXPECT_EQ(value(totals, "no_such_metric", Aggregation::kCount), std::nullopt);
}

TEST(Metric, without_samples_only_counters_have_a_value) {
  const plan::Plan plan = thresholds_shop();
  const Totals totals(plan);
  for (const plan::Metric& info : plan::metrics()) {
    for (const Aggregation aggregation : {Aggregation::kRate, Aggregation::kValue, Aggregation::kAvg, Aggregation::kMin,
                                          Aggregation::kMax, Aggregation::kMed, Aggregation::kPercentile}) {
      EXPECT_EQ(value(totals, info.name, aggregation), std::nullopt) << info.name;
    }
  }
  EXPECT_EQ(value(totals, "http_reqs", Aggregation::kCount), 0);
}

plan::Threshold threshold(std::string metric, Aggregation aggregation, Op op, double bound) {
  plan::Threshold out;
  out.metric = std::move(metric);
  out.aggregation = aggregation;
  out.op = op;
  out.value = bound;
  return out;
}

TEST(Thresholds, every_operator_compares_as_written) {
  const plan::Plan plan = thresholds_shop();
  const Totals totals = filled(plan);
  const auto ok = [&](Op op, double bound) {
    return evaluate(totals, threshold("http_reqs", Aggregation::kCount, op, bound)).ok;
  };
  for (const double bound : {599.0, 600.0, 601.0}) {
    EXPECT_EQ(ok(Op::kLess, bound), 600 < bound);
    EXPECT_EQ(ok(Op::kLessEqual, bound), 600 <= bound);
    EXPECT_EQ(ok(Op::kGreater, bound), 600 > bound);
    EXPECT_EQ(ok(Op::kGreaterEqual, bound), 600 >= bound);
    EXPECT_EQ(ok(Op::kEqual, bound), 600 == bound);
    EXPECT_EQ(ok(Op::kNotEqual, bound), 600 != bound);
  }
}

TEST(Thresholds, one_without_samples_has_not_passed) {
  plan::Plan plan = thresholds_shop();
  plan.thresholds = {threshold("http_req_duration", Aggregation::kPercentile, Op::kLess, 1e9),
                     threshold("dropped_iterations", Aggregation::kCount, Op::kEqual, 0)};
  const Totals totals(plan);
  const auto results = evaluate(totals);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].no_samples());
  EXPECT_FALSE(results[0].ok);
  EXPECT_TRUE(results[1].ok) << "that nothing was dropped is known";
}

TEST(Thresholds, the_filter_of_the_threshold_is_used) {
  const plan::Plan plan = thresholds_shop();
  const Totals totals = filled(plan);
  plan::Threshold one = threshold("http_req_duration", Aggregation::kPercentile, Op::kLess, 11);
  one.percentile = 99;
  EXPECT_FALSE(evaluate(totals, one).ok);
  one.step = 0;
  EXPECT_TRUE(evaluate(totals, one).ok);
}

TEST(Thresholds, a_run_is_aborted_by_a_failing_one_that_asks_for_it_after_its_delay) {
  plan::Plan plan = thresholds_shop();
  plan.thresholds = {threshold("http_req_failed", Aggregation::kRate, Op::kLess, 0.001)};
  EXPECT_EQ(abort_due(filled(plan)), std::nullopt) << "it does not ask";
  plan.thresholds[0].abort_on_fail = true;
  EXPECT_EQ(abort_due(filled(plan)), 0u);
  plan.thresholds[0].delay_abort_eval = Duration::seconds(10);
  EXPECT_EQ(abort_due(filled(plan)), 0u);
  plan.thresholds[0].delay_abort_eval = Duration::seconds(11);
  EXPECT_EQ(abort_due(filled(plan)), std::nullopt) << "too early";
  plan.thresholds[0].delay_abort_eval = Duration::zero();
  plan.thresholds[0].op = Op::kGreater;
  EXPECT_EQ(abort_due(filled(plan)), std::nullopt) << "it passes";
  EXPECT_EQ(abort_due(Totals(plan)), std::nullopt) << "there are no samples";
}

TEST(Thresholds, of_the_scenarios_own_metrics_are_judged_by_kind_and_step) {
  plan::Plan plan = thresholds_shop();
  plan.metrics = {{"orders", plan::MetricKind::kCounter, ""},
                  {"price", plan::MetricKind::kTrend, "EUR"},
                  {"took", plan::MetricKind::kTrend, "ms"},
                  {"sold", plan::MetricKind::kRate, ""},
                  {"queue", plan::MetricKind::kGauge, ""}};
  plan.series = {{0, 0}, {0, 3}, {1, 0}, {2, 0}, {3, 0}, {4, 0}};
  metrics::Window w(shape_of(plan));
  w.series[0].add(4);
  w.series[1].add(0.5);
  for (const double price : {1.0, 2.0, 6.0}) w.series[2].record(price, plan.metrics[1].scale());
  w.series[3].record(250, plan.metrics[2].scale());
  w.series[4].observe(1);
  w.series[4].observe(0);
  Totals totals(plan);
  totals.add(w);
  const auto value = [&](const char* metric, Aggregation aggregation, const Filter& filter = {}, double p = 0) {
    const auto figure = value_of(*sample(totals, metric, filter), aggregation, p);
    return figure ? std::optional(figure->value) : std::nullopt;
  };
  EXPECT_EQ(value("orders", Aggregation::kCount), 4.5);
  EXPECT_EQ(value("orders", Aggregation::kRate), 4.5);
  EXPECT_EQ(value("orders", Aggregation::kCount, {.step = 3}), 0.5) << "a step that sends nothing";
  EXPECT_EQ(value("orders", Aggregation::kCount, {.workflow = 0}), 4);
  EXPECT_EQ(value("price", Aggregation::kAvg), 3);
  EXPECT_EQ(value("price", Aggregation::kMax), 6);
  EXPECT_EQ(value("took", Aggregation::kMed), 250);
  EXPECT_EQ(value("sold", Aggregation::kRate), 0.5);
  EXPECT_EQ(value("queue", Aggregation::kValue), std::nullopt) << "it was never set";
  EXPECT_FALSE(sample(totals, "orders", {.check = 0}));

  metrics::Window later(shape_of(plan));
  later.series[5].set(-3, Duration::seconds(2));
  totals.add(later);
  EXPECT_EQ(value("queue", Aggregation::kValue), -3);
}

TEST(Tags, the_figures_of_each_are_those_of_its_thresholds) {
  plan::Plan plan = thresholds_shop();
  const plan::Tag name{"name", "pay"};
  plan.tags = {{"build", "7"}};
  plan.steps[0].tags = {{"api", "v1"}, {"build", "7"}};
  plan.steps[1].tags = {{"api", "v2"}, {"build", "7"}};
  plan.steps[2].tags = {{"api", "v2"}, {"build", "7"}};
  plan.steps[3].tags = {{"of", "an action"}};
  plan.steps[0].facts = {{"name", "list"}, {"method", "GET"}};
  plan.steps[1].facts = {name, {"method", "GET"}};
  plan.steps[2].facts = {name};
  const Totals totals = filled(plan);
  const TagSums sums = sums_by_tag(totals);
  std::vector<std::string> names;
  for (const TagSum& one : sums.tags) names.push_back(one.name);
  EXPECT_EQ(names, (std::vector<std::string>{"api:v1", "api:v2", "name:pay"}));
  const plan::Tag tag{"api", "v2"};
  const Filter filter{.tags = {&tag, 1}};
  const metrics::StepWindow& sum = sums.tags[1].sum;
  EXPECT_EQ(static_cast<double>(sum.count), value(totals, "http_reqs", Aggregation::kCount, filter));
  EXPECT_EQ(sum.response.percentile(95).value.millis_f(),
            value(totals, "http_req_duration", Aggregation::kPercentile, filter, 95));
  EXPECT_EQ(sums.tags[1].elapsed, Duration::seconds(10));
  plan.steps[2].tags = {{"build", "8"}};
  EXPECT_EQ(sums_by_tag(totals).tags[2].name, "build:7") << "not of all steps any more";
}

TEST(Thresholds, of_requests_by_their_response_are_judged_apart) {
  plan::Plan plan = thresholds_shop();
  plan.watches = {{0, {{}, false}},
                  {0, {{}, true}},
                  {0, {0, {}}},
                  {0, {0, false}},
                  {0, {503, {}}},
                  {0, {503, false}},
                  {0, {503, {}}, plan::RequestTime::kWait}};
  metrics::Window w(shape_of(plan));
  metrics::StepWindow& step = w.steps[0];
  step.count = 10;  // 6 good ones, 2 of status 503, one of them expected, 2 without a response
  step.failed = 3;
  step.errors[static_cast<std::size_t>(http1::ErrorKind::kTimeout)] = 2;
  step.response.answered.record(Duration::millis(10), 6);
  step.response.answered.record(Duration::millis(500), 2);
  step.response.unanswered.record(Duration::millis(900), 2);
  step.response.unfinished.record(Duration::millis(40));
  w.watches[0].record(Duration::millis(500));
  w.watches[1].record(Duration::millis(10), 6);
  w.watches[1].record(Duration::millis(500));
  w.watches[4].record(Duration::millis(500), 2);
  w.watches[5].record(Duration::millis(500));
  w.watches[6].record(Duration::millis(300), 2);
  Totals totals(plan);
  totals.add(w);
  const auto of = [&](std::string_view metric, Aggregation aggregation, plan::ResponseFilter response) {
    return value(totals, metric, aggregation, {.step = 0, .response = response});
  };
  EXPECT_EQ(of("http_reqs", Aggregation::kCount, {{}, true}), 7);
  EXPECT_EQ(of("http_reqs", Aggregation::kCount, {{}, false}), 3) << "also those without a response";
  EXPECT_EQ(of("http_reqs", Aggregation::kCount, {503, {}}), 2);
  EXPECT_EQ(of("http_reqs", Aggregation::kCount, {0, {}}), 2);
  EXPECT_EQ(of("http_req_failed", Aggregation::kRate, {503, {}}), 0.5);
  EXPECT_EQ(of("http_req_failed", Aggregation::kRate, {0, {}}), 1);
  EXPECT_EQ(of("http_req_failed", Aggregation::kRate, {{}, true}), 0);
  EXPECT_EQ(of("http_req_failed", Aggregation::kRate, {{}, false}), 1);
  EXPECT_EQ(of("http_req_duration", Aggregation::kMed, {503, {}}), 500);
  EXPECT_EQ(of("http_req_waiting", Aggregation::kMax, {503, {}}), 300);
  EXPECT_NEAR(*of("http_req_duration", Aggregation::kMed, {{}, true}), 10, 0.02);
  EXPECT_EQ(sample(totals, "http_req_duration", {.step = 0, .response = {{}, true}})->trend.unfinished.count(), 1u)
      << "a dropped request might have been answered as expected";
  EXPECT_EQ(sample(totals, "http_req_duration", {.step = 0, .response = {{}, false}})->trend.count(), 3u);
  EXPECT_FALSE(sample(totals, "data_sent", {.step = 0, .response = {{}, true}}));
  EXPECT_FALSE(sample(totals, "checks", {.step = 0, .response = {{}, true}}));
}

}  // namespace
}  // namespace bellwether::aggregate
