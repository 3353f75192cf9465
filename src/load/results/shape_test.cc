#include <gtest/gtest.h>

#include "load/results/database.h"
#include "load/results/results_testing.h"

namespace bellwether::results {
namespace {

TEST(Shape, what_a_report_needs_of_a_plan_survives) {
  plan::Plan plan = sample_plan();
  plan.workflows[0].start_time = Duration::seconds(3);
  const auto back = decode_shape(encode_shape(plan));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->name, "shop");
  EXPECT_EQ(back->workflows[0].name, "browse");
  EXPECT_EQ(back->workflows[0].start_time, Duration::seconds(3));
  ASSERT_EQ(back->steps.size(), 2U);
  EXPECT_EQ(back->steps[1].name, "browse.pay");
  EXPECT_EQ(back->checks[0].step, 1);
}

TEST(Shape, the_scenarios_own_metrics_survive_and_those_before_them_had_none) {
  plan::Plan plan = sample_plan();
  plan.metrics = {{"orders", plan::MetricKind::kCounter, ""}, {"took", plan::MetricKind::kTrend, "ms"}};
  plan.series = {{1, 0}, {0, 1}};
  const std::string text = encode_shape(plan);
  const auto back = decode_shape(text);
  ASSERT_TRUE(back.has_value());
  ASSERT_EQ(back->metrics.size(), 2U);
  EXPECT_EQ(back->metrics[1].name, "took");
  EXPECT_EQ(back->metrics[1].kind, plan::MetricKind::kTrend);
  EXPECT_TRUE(back->metrics[1].is_time());
  ASSERT_EQ(back->series.size(), 2U);
  EXPECT_EQ(back->series[0].metric, 1);
  EXPECT_EQ(back->series[1].step, 1);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"metric\":1", "\"metric\":2"}, {"\"kind\":2", "\"kind\":4"}, {"\"unit\":\"ms\"", "\"unit\":1"}}) {
    std::string wrong = text;
    wrong.replace(wrong.find(from), from.size(), to);
    EXPECT_FALSE(decode_shape(wrong).has_value()) << to;
  }
  const std::string before = text.substr(0, text.find(",\"metrics\"")) + "}";
  ASSERT_TRUE(decode_shape(before).has_value());
  EXPECT_TRUE(decode_shape(before)->metrics.empty());
}

TEST(Shape, tags_survive_and_the_name_of_a_step_is_one) {
  plan::Plan plan = sample_plan();
  plan.tags = {{"build", "7"}};
  plan.steps[0].tags = {{"build", "7"}, {"api", "v2"}};
  plan.steps[1].tags = {{"name", "checkout"}};
  const std::string text = encode_shape(plan);
  const auto back = decode_shape(text);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->tags, plan.tags);
  EXPECT_EQ(back->steps[0].tags, plan.steps[0].tags);
  EXPECT_EQ(back->steps[0].facts, (std::vector<plan::Tag>{{"name", "list"}}));
  EXPECT_EQ(back->steps[1].tags, plan.steps[1].tags);
  EXPECT_TRUE(back->steps[1].facts.empty()) << "a tag of its own replaces it";
  for (const char* wrong : {"[]", "{\"api\":2}"}) {
    std::string damaged = text;
    const std::string good = "{\"build\":\"7\",\"api\":\"v2\"}";
    damaged.replace(damaged.find(good), good.size(), wrong);
    EXPECT_FALSE(decode_shape(damaged).has_value()) << wrong;
  }
  EXPECT_EQ(encode_shape(sample_plan()).find("tags"), std::string::npos);
}

TEST(Shape, what_points_to_nothing_is_refused) {
  const std::string good = encode_shape(sample_plan());
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"workflow\":0", "\"workflow\":1"},
                                                        {"\"step\":1", "\"step\":2"},
                                                        {"\"step\":1", "\"step\":-1"},
                                                        {"\"measured\":true", "\"measured\":1"},
                                                        {"\"name\":\"shop\"", "\"name\":7"},
                                                        {"{", "["}}) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    EXPECT_FALSE(decode_shape(text).has_value()) << to;
  }
}

}  // namespace
}  // namespace bellwether::results
