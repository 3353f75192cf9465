#include <gtest/gtest.h>

#include "load/report/reports.h"
#include "load/report/sample_run_testing.h"

namespace bellwether::report {
namespace {

std::vector<std::vector<std::string>> cells(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      inside = !inside;
    } else if (c == ',' && !inside) {
      rows.back().emplace_back();
    } else if (c == '\r' && !inside && text[i + 1] == '\n') {
      rows.emplace_back(1);
      ++i;
    } else {
      rows.back().back() += c;
    }
  }
  rows.pop_back();
  return rows;
}

TEST(Csv, has_a_row_for_the_run_for_each_step_and_for_each_second_and_all_are_of_one_width) {
  const auto run = read_result(to_json(open_run()->report));
  ASSERT_TRUE(run.has_value());
  const auto rows = cells(to_csv(*run));
  ASSERT_EQ(rows.size(), 1U + 1 + 2 + 10);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size()) << row[0];
  EXPECT_EQ(rows[1][0], "run");
  EXPECT_EQ(rows[1][1], "shop");
  EXPECT_EQ(rows[1][4], "20000");
  EXPECT_EQ(rows[3][1], "browse.pay");
  EXPECT_EQ(rows[3][5], "150");
  EXPECT_EQ(rows[13][0], "second");
  EXPECT_EQ(rows[13][2], "9");
  EXPECT_EQ(rows[13][12], "49");
}

TEST(Csv, requests_that_were_sent_again_are_counted_for_the_run_and_each_step) {
  const auto sample = closed_run();
  metrics::Window more({1, 1, 0});
  more.steps[0].repeated = 17;
  sample->totals->add(more);
  const auto run = read_result(to_json(sample->report));
  ASSERT_TRUE(run.has_value());
  const auto rows = cells(to_csv(*run));
  std::vector<std::string> column;
  for (const auto& row : rows) column.push_back(row[9]);
  EXPECT_EQ(column, (std::vector<std::string>{"repeated", "17", "17", ""}));
}

TEST(Csv, each_tag_of_steps_is_a_row_like_a_step) {
  const auto run = read_result(to_json(tagged_run()->report));
  ASSERT_TRUE(run.has_value());
  const auto rows = cells(to_csv(*run));
  ASSERT_EQ(rows.size(), 1U + 1 + 2 + 3 + 10);
  EXPECT_EQ(rows[5][0], "by_tag");
  EXPECT_EQ(rows[5][1], "api:v2");
  EXPECT_TRUE(std::equal(rows[5].begin() + 2, rows[5].end(), rows[3].begin() + 2, rows[3].end()));
}

TEST(Csv, times_stand_under_their_names) {
  const auto run = read_result(to_json(open_run()->report));
  ASSERT_TRUE(run.has_value());
  const auto rows = cells(to_csv(*run));
  const auto cell = [&](std::size_t row, const std::string& head) {
    const auto at = std::find(rows[0].begin(), rows[0].end(), head);
    EXPECT_NE(at, rows[0].end()) << head;
    return std::stod(rows[row][static_cast<std::size_t>(at - rows[0].begin())]);
  };
  EXPECT_NEAR(cell(2, "response_p95_ms"), run->steps[0].response.percentile(95).value.millis_f(), 0.01);
  EXPECT_NEAR(cell(2, "service_max_ms"), 1.489, 0.01);
  EXPECT_NEAR(cell(4, "response_p99_ms"), run->series[0].response->p99, 0.01);
  EXPECT_NEAR(cell(4, "service_p50_ms"), run->series[0].service->p50, 0.01);
}

TEST(Csv, each_figure_of_the_scenarios_own_metrics_is_a_row) {
  auto run = read_result(to_json(closed_run()->report));
  ASSERT_TRUE(run.has_value());
  run->metrics = {{"orders", "counter", "", 0, {{"count", 12}, {"rate", 1.5}}},
                  {"=basket", "trend", "EUR", 0, {{"p(95)", 41.25}}},
                  {"never", "gauge", "", 0, {}}};
  const auto rows = cells(to_csv(*run));
  std::vector<std::vector<std::string>> found;
  for (const auto& row : rows) {
    EXPECT_EQ(row.size(), rows[0].size()) << row[0];
    if (row[0] == "metric") found.push_back({row[1], row[row.size() - 3], row[row.size() - 2], row.back()});
  }
  EXPECT_EQ(std::vector<std::string>(rows[0].end() - 3, rows[0].end()),
            (std::vector<std::string>{"figure", "value", "unit"}));
  EXPECT_EQ(found,
            (std::vector<std::vector<std::string>>{
                {"orders", "count", "12", ""}, {"orders", "rate", "1.5", ""}, {"'=basket", "p(95)", "41.25", "EUR"}}));
}

TEST(Csv, each_figure_of_a_metric_over_time_is_a_row) {
  const auto run = read_result(to_json(measured_run()->report));
  ASSERT_TRUE(run.has_value());
  const auto rows = cells(to_csv(*run));
  std::vector<std::vector<std::string>> depth;
  std::size_t prices = 0;
  for (const auto& row : rows) {
    EXPECT_EQ(row.size(), rows[0].size()) << row[0];
    if (row[0] != "metric_second") continue;
    EXPECT_NE(row[1], "never");
    if (row[1] == "price") {
      ++prices;
      EXPECT_EQ(row.back(), "EUR");
    }
    if (row[1] == "depth") depth.push_back({row[2], row[3], row[row.size() - 3], row[row.size() - 2]});
  }
  EXPECT_EQ(prices, 12U * 3);
  EXPECT_EQ(depth, (std::vector<std::vector<std::string>>{{"4", "1", "value", "-3"},
                                                          {"4", "1", "min", "-3"},
                                                          {"4", "1", "max", "-3"},
                                                          {"8", "1", "value", "12"},
                                                          {"8", "1", "min", "12"},
                                                          {"8", "1", "max", "20"}}));
}

TEST(Csv, text_of_a_scenario_breaks_no_row_and_is_no_formula) {
  auto run = read_result(to_json(closed_run()->report));
  ASSERT_TRUE(run.has_value());
  run->scenario = "=cmd(\"x\"),\r\nrow";
  const std::string text = to_csv(*run);
  EXPECT_NE(text.find("run,\"'=cmd(\"\"x\"\"),\r\nrow\","), std::string::npos) << text;
}

}  // namespace
}  // namespace bellwether::report
