#include "load/report/result_file.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "load/report/reports.h"
#include "load/report/sample_run_testing.h"

namespace bellwether::report {
namespace {

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(ResultFile, what_was_written_is_read_back) {
  const auto sample = open_run();
  const auto run = read_result(to_json(sample->report));
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_EQ(run->id, "01J0SAMPLE");
  EXPECT_EQ(run->scenario, "shop");
  EXPECT_EQ(run->requests, 20'000U);
  EXPECT_EQ(run->exit_code, sample->report.verdict.exit_code);
  EXPECT_EQ(run->reason, sample->report.verdict.reason);
  EXPECT_EQ(run->failed_thresholds, std::vector<std::string>{"http_req_duration p(95)=20.2ms, limit <15ms"});
  ASSERT_EQ(run->steps.size(), 2U);
  EXPECT_EQ(run->steps[1].name, "browse.pay");
  EXPECT_EQ(run->steps[1].response, sample->totals->sum().steps[2].response);
  EXPECT_EQ(run->steps[1].service, sample->totals->sum().steps[2].service);
  EXPECT_EQ(run->steps[1].status, (Counted{{"200", 9'850}, {"503", 50}}));
  EXPECT_EQ(run->series.size(), 10U);
  EXPECT_EQ(run->series[9].vus, 49U);
  EXPECT_FALSE(run->thresholds[3].value.has_value());
  EXPECT_EQ(run->checks[2].name, "json $.receipt exists");
  EXPECT_EQ(run->events[0].kind, "connections");
  EXPECT_EQ(run->targets.size(), 2U);
  EXPECT_EQ(run->workflows[0].executor, "constant-arrival-rate");
  EXPECT_EQ(run->thresholds[1].limit, 15);
  EXPECT_EQ(run->thresholds[1].unit, "ms");
  ASSERT_EQ(run->steps[1].series.size(), 10U);
  EXPECT_EQ(run->steps[1].series[9].requests, 1'000U);
  EXPECT_DOUBLE_EQ(run->steps[1].series[9].rate_per_s, 1'000);
  EXPECT_NEAR(run->steps[1].series[9].response->p99, 20.5, 0.1);
}

TEST(ResultFile, lower_bounds_are_read_back) {
  const auto open = read_result(to_json(open_run()->report));
  const auto closed = read_result(to_json(closed_run()->report));
  ASSERT_TRUE(open.has_value() && closed.has_value());
  EXPECT_EQ(open->steps[0].response.unanswered.count(), 100U);
  EXPECT_EQ(open->steps[0].response.unfinished.count(), 500U);
  EXPECT_FALSE(open->steps[0].response.percentile(99).known());
  EXPECT_FALSE(closed->steps[0].due_times);
}

TEST(ResultFile, an_older_file_has_less_and_is_read) {
  auto document = nlohmann::ordered_json::parse(to_json(open_run()->report));
  for (const char* key : {"targets", "failed_thresholds"}) document["run"].erase(key);
  for (auto& [name, step] : document["steps"].items()) {
    for (const char* key : {"due_times", "series"}) step.erase(key);
  }
  for (const char* key : {"executor", "load"}) document["workflows"][0].erase(key);
  for (auto& one : document["thresholds"]) {
    for (const char* key : {"limit", "unit"}) one.erase(key);
  }
  const auto run = read_result(document.dump());
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_TRUE(run->steps[0].series.empty());
  EXPECT_FALSE(run->thresholds[0].limit.has_value());
  EXPECT_TRUE(run->failed_thresholds.empty());
}

TEST(ResultFile, a_series_of_a_step_that_does_not_rise_is_refused) {
  auto document = nlohmann::ordered_json::parse(to_json(open_run()->report));
  document["steps"]["browse.pay"]["series"][1]["t"] = 0;
  const auto run = read_result(document.dump());
  ASSERT_FALSE(run.has_value());
  EXPECT_NE(run.error().message.find("$.steps.browse.pay.series[1] is out of turn"), std::string::npos);
}

TEST(ResultFile, losses_and_workers_are_read) {
  const auto run = read_result(to_json(spread_run()->report));
  ASSERT_TRUE(run.has_value()) << run.error().message;
  ASSERT_EQ(run->lost.size(), 2U);
  EXPECT_DOUBLE_EQ(run->lost[0].ratio, 0.25);
  EXPECT_EQ(run->workers[1].state, "lost");
}

TEST(ResultFile, metrics_over_time_are_read_and_files_without_them_too) {
  const std::string text = to_json(measured_run()->report);
  const auto run = read_result(text);
  ASSERT_TRUE(run.has_value()) << run.error().message;
  ASSERT_EQ(run->metrics.size(), 6U);
  EXPECT_EQ(run->metrics[0].series[3].count, 3.5);
  EXPECT_EQ(run->metrics[0].series[3].rate, 3.5);
  EXPECT_EQ(run->metrics[1].series[1].value, 12);
  EXPECT_EQ(run->metrics[1].series[0].least, -3);
  EXPECT_EQ(run->metrics[1].series[1].greatest, 20);
  EXPECT_EQ(run->metrics[2].series[6].t, 7);
  EXPECT_EQ(run->metrics[2].series[6].matches, 3U);
  EXPECT_EQ(run->metrics[2].series[6].total, 4U);
  EXPECT_NEAR(run->metrics[3].series[0].p95, 19, 0.02);
  EXPECT_NEAR(run->metrics[4].series[0].median, 250, 0.25);
  EXPECT_TRUE(run->metrics[5].series.empty());

  auto older = nlohmann::ordered_json::parse(text);
  for (auto& [name, metric] : older["metrics"].items()) metric.erase("series");
  const auto read = read_result(older.dump());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->metrics[0].figures, run->metrics[0].figures);
  EXPECT_TRUE(read->metrics[0].series.empty());
}

TEST(ResultFile, metrics_over_time_that_break_the_rules_are_refused_by_their_place) {
  const auto good = nlohmann::ordered_json::parse(to_json(measured_run()->report));
  const auto message = [&](const char* metric, const char* figure, const nlohmann::ordered_json& value) {
    auto document = good;
    document["metrics"][metric]["series"][1][figure] = value;
    const auto run = read_result(document.dump());
    return run ? std::string("accepted") : run.error().message;
  };
  EXPECT_EQ(message("orders", "t", 1), "accepted");
  EXPECT_NE(message("orders", "t", 0).find("$.metrics.orders.series[1] is out of turn"), std::string::npos);
  EXPECT_NE(message("orders", "rate", -1).find("is negative"), std::string::npos);
  EXPECT_NE(message("sold", "matches", 5).find("contradicts itself"), std::string::npos);
  EXPECT_NE(message("sold", "rate", 1.5).find("contradicts itself"), std::string::npos);
  EXPECT_NE(message("depth", "value", "high").find("is no number"), std::string::npos);
  EXPECT_NE(message("price", "p(95)", nullptr).find("is no number"), std::string::npos);
  auto document = good;
  document["metrics"]["price"]["kind"] = "colour";
  EXPECT_FALSE(read_result(document.dump()).has_value());
}

TEST(ResultFile, all_steps_together_are_their_union) {
  const auto run = read_result(to_json(open_run()->report));
  ASSERT_TRUE(run.has_value());
  metrics::ResponseTimes both;
  for (const ResultStep& step : run->steps) both.merge(step.response);
  EXPECT_EQ(all_response(*run), both);
  EXPECT_EQ(all_service(*run).count(), 19'800U);
}

TEST(ResultFile, what_breaks_the_rules_is_refused_by_its_place) {
  const std::string good = to_json(closed_run()->report);
  const auto message = [](const std::string& text) {
    const auto run = read_result(text);
    return run ? std::string("accepted") : run.error().message;
  };
  EXPECT_EQ(message("{"), "no result file of this product: it is not JSON");
  EXPECT_NE(message("[]").find("$ is no object"), std::string::npos);
  EXPECT_NE(message(with(good, "result/1", "result/2")).find("bellwether.result/2"), std::string::npos);
  EXPECT_NE(message(with(good, "\"requests\": 123456", "\"requests\": -1")).find("$.totals.requests is no count"),
            std::string::npos);
  EXPECT_NE(message(with(good, "\"requests\": 123456", "\"requests\": 1e400")).size(), 8U);
  EXPECT_NE(message(with(good, "\"requests\"", "\"requested\"")).find("has no 'requests'"), std::string::npos);
  EXPECT_NE(message(with(good, "\"started_at\": \"", "\"started_at\": \"" + std::string(70'000, 'x'))).find("too long"),
            std::string::npos);
}

TEST(ResultFile, buckets_that_are_out_of_turn_or_begin_where_none_does_are_refused) {
  const auto good = nlohmann::ordered_json::parse(to_json(closed_run()->report));
  const auto with_buckets = [&](const nlohmann::ordered_json& buckets) {
    auto document = good;
    document["steps"]["main.get"]["service_ms"]["histogram"]["buckets"] = buckets;
    return read_result(document.dump());
  };
  const auto first = good["steps"]["main.get"]["service_ms"]["histogram"]["buckets"][0];
  const auto last = good["steps"]["main.get"]["service_ms"]["histogram"]["buckets"][1];
  EXPECT_TRUE(with_buckets({first, last}).has_value());
  EXPECT_FALSE(with_buckets({first, last, first, last}).has_value());
  EXPECT_FALSE(with_buckets({first, first, last}).has_value());
  EXPECT_FALSE(with_buckets({first, {1'000'001, 5}, last}).has_value());
  EXPECT_FALSE(with_buckets({first, {1'000'000}, last}).has_value());
  EXPECT_FALSE(with_buckets({first, {1'000'000, 1, 1}, last}).has_value());
}

TEST(ResultFile, a_histogram_that_contradicts_itself_is_refused) {
  const std::string good = to_json(closed_run()->report);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"min\": 230000", "\"min\": 1"},
                                                        {"\"max\": 2300000", "\"max\": 9300000"},
                                                        {"\"max\": 2300000", "\"max\": 9007199254740992"},
                                                        {"\"sum\": ", "\"sum\": -"}}) {
    const auto run = read_result(with(good, from, to));
    EXPECT_FALSE(run.has_value()) << to;
  }
}

}  // namespace
}  // namespace bellwether::report
