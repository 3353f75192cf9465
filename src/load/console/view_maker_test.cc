#include <gtest/gtest.h>

#include "load/console/view.h"

namespace bellwether::console {
namespace {

class ViewMakerTest : public testing::Test {
 protected:
  ViewMakerTest() {
    plan_.name = "shop";
    plan_.workflows.resize(2);
    for (std::size_t w = 0; w < 2; ++w) {
      plan_.workflows[w].name = w == 0 ? "browse" : "buy";
      plan_.workflows[w].executor = plan::ConstantVus{.vus = 1, .duration = Duration::seconds(10)};
    }
    add_step(0, "list", "http://127.0.0.1:8080/items?x=1");
    add_step(0, "", "");
    add_step(1, "pay", "https://pay.example/");
    plan::Threshold threshold;
    threshold.metric = threshold.metric_text = "http_req_failed";
    threshold.expression = "rate<0.5";
    threshold.aggregation = plan::Aggregation::kRate;
    threshold.op = plan::Op::kLess;
    threshold.value = 0.5;
    plan_.thresholds = {threshold};
  }

  // An empty name: one that makes no requests.
  void add_step(uint16_t workflow, const std::string& name, const std::string& url) {
    plan::Step step;
    step.id = static_cast<plan::StepId>(plan_.steps.size());
    step.name = name;
    step.work = plan::SetAction{};
    if (!name.empty()) {
      plan::HttpCall call;
      call.url.pieces = {{.kind = plan::Piece::Kind::kLiteral, .literal = url}};
      step.work = call;
    }
    auto& steps = plan_.workflows[workflow].steps;
    plan_.steps.push_back({.workflow = workflow,
                           .index = static_cast<uint16_t>(steps.size()),
                           .name = plan_.workflows[workflow].name + "." + name,
                           .measured = !name.empty()});
    steps.push_back(step);
  }

  void second(uint64_t number, uint64_t requests, int64_t millis) {
    metrics::Window window({plan_.steps.size(), plan_.workflows.size(), 0});
    window.second = number;
    window.steps[0].count = requests;
    window.steps[0].failed = 1;
    window.steps[0].response.answered.record(Duration::millis(millis));
    window.workflows[0].iterations = requests;
    window.workflows[0].vus_active = 3;
    if (!totals_) totals_.emplace(plan_);
    totals_->add(window);
    maker_.update(view_, *totals_);
  }

  plan::Plan plan_;
  std::optional<aggregate::Totals> totals_;
  ViewMaker maker_;
  View view_;
};

TEST_F(ViewMakerTest, begins_with_what_the_plan_says) {
  maker_.begin(view_, plan_, Duration::seconds(10));
  EXPECT_EQ(view_.scenario, "shop");
  EXPECT_EQ(view_.target, "http://127.0.0.1:8080, https://pay.example");
  EXPECT_EQ(view_.planned, Duration::seconds(10));
  ASSERT_EQ(view_.workflows.size(), 2u);
  ASSERT_EQ(view_.workflows[0].steps.size(), 1u) << "only steps that make requests";
  EXPECT_EQ(view_.workflows[0].steps[0].name, "list");
  ASSERT_EQ(view_.thresholds.size(), 1u);
  EXPECT_EQ(view_.thresholds[0].verdict, ThresholdRow::Verdict::kNoSamples);
}

TEST_F(ViewMakerTest, a_host_that_is_not_known_before_is_not_named) {
  plan::Piece host;
  host.kind = plan::Piece::Kind::kSlot;
  std::get<plan::HttpCall>(plan_.workflows[0].steps[0].work).url.pieces = {
      {.kind = plan::Piece::Kind::kLiteral, .literal = "http://a"}, host};
  maker_.begin(view_, plan_, Duration::seconds(10));
  EXPECT_EQ(view_.target, "https://pay.example");
}

TEST_F(ViewMakerTest, counts_since_the_start_and_rates_of_the_last_seconds) {
  maker_.begin(view_, plan_, Duration::seconds(10));
  for (uint64_t n = 0; n < 20; ++n) second(n, n < 10 ? 100 : 300, 7);
  EXPECT_EQ(view_.counts.requests, 4000u);
  EXPECT_DOUBLE_EQ(view_.rate_total_per_s, 200);
  EXPECT_DOUBLE_EQ(view_.rate_per_s, 300);
  const WorkflowRow& browse = view_.workflows[0];
  EXPECT_EQ(browse.users, 3);
  EXPECT_TRUE(browse.active);
  EXPECT_EQ(browse.steps[0].count, 4000u);
  EXPECT_EQ(browse.steps[0].failed, 20u);
  EXPECT_DOUBLE_EQ(browse.steps[0].rate_per_s, 300);
  EXPECT_EQ(browse.steps[0].duration.p99, Duration::millis(7));
  EXPECT_FALSE(view_.workflows[1].active);
  EXPECT_EQ(view_.workflows[1].steps[0].duration, aggregate::Percentiles());
  EXPECT_EQ(view_.thresholds[0].verdict, ThresholdRow::Verdict::kHolds);
  EXPECT_EQ(view_.thresholds[0].value, "0.50%");
}

TEST_F(ViewMakerTest, each_point_has_its_time) {
  maker_.begin(view_, plan_, Duration::seconds(10));
  second(0, 1, 1);
  second(3, 1, 4);
  ASSERT_EQ(view_.points.size(), 2u);
  EXPECT_EQ(view_.points[0].at, Duration::zero());
  EXPECT_EQ(view_.points[0].times.p50, Duration::millis(1));
  EXPECT_EQ(view_.points[1].at, Duration::seconds(3));
  EXPECT_EQ(view_.points[1].length, Duration::seconds(1));
  EXPECT_EQ(view_.points[1].times.p50, Duration::millis(4));
}

TEST_F(ViewMakerTest, a_long_run_is_shown_from_its_begin_and_in_bounds) {
  maker_.begin(view_, plan_, Duration::hours(2));
  for (uint64_t n = 0; n < 5000; ++n) second(n, 1, n == 4999 ? 9 : 1);
  EXPECT_EQ(view_.points.front().at, Duration::zero());
  EXPECT_EQ(view_.points.front().length, Duration::minutes(1));
  EXPECT_EQ(view_.points.back().at, Duration::seconds(4999));
  EXPECT_EQ(view_.points.back().times.p50, Duration::millis(9));
  EXPECT_LE(view_.points.size(), aggregate::Totals::kMaxSeries);
}

TEST_F(ViewMakerTest, failures_come_by_count) {
  maker_.begin(view_, plan_, Duration::seconds(10));
  metrics::Window window({plan_.steps.size(), 2, 0});
  window.steps[0].failed = 5;
  window.steps[0].status.add(503, 2);
  window.steps[0].errors[static_cast<std::size_t>(http1::ErrorKind::kConnectRefused)] = 3;
  totals_.emplace(plan_);
  totals_->add(window);
  maker_.update(view_, *totals_);
  EXPECT_EQ(view_.failures, (std::vector<aggregate::Failure>{{"connection refused", 3}, {"status 503", 2}}));
}

TEST_F(ViewMakerTest, with_many_steps_each_has_its_turn) {
  for (int i = 0; i < 200; ++i) add_step(1, "s" + std::to_string(i), "http://a/");
  maker_.begin(view_, plan_, Duration::seconds(10));
  totals_.emplace(plan_);
  metrics::Window window({plan_.steps.size(), 2, 0});
  for (metrics::StepWindow& step : window.steps) {
    step.count = 1;
    step.response.answered.record(Duration::millis(5));
  }
  totals_->add(window);
  maker_.update(view_, *totals_);
  EXPECT_EQ(view_.workflows[1].steps.back().count, 1u) << "counts are never old";
  EXPECT_EQ(view_.workflows[1].steps.back().duration, aggregate::Percentiles());
  maker_.update(view_, *totals_);
  EXPECT_EQ(view_.workflows[1].steps.back().duration.p50, Duration::millis(5));
}

TEST_F(ViewMakerTest, counts_that_went_back_make_no_rate) {
  maker_.begin(view_, plan_, Duration::seconds(10));
  second(0, 100, 1);
  second(1, 100, 1);
  aggregate::Totals fewer(plan_);
  metrics::Window window({plan_.steps.size(), 2, 0});
  window.steps[0].count = 50;
  fewer.add(window, Duration::millis(2500));
  maker_.update(view_, fewer);
  EXPECT_GE(view_.rate_per_s, 0);
  EXPECT_LT(view_.rate_per_s, 1000);
}

TEST(Events, only_the_newest_are_kept) {
  View view;
  for (std::size_t i = 0; i < View::kMaxEvents + 5; ++i) view.add_event(Duration::zero(), std::to_string(i));
  EXPECT_EQ(view.events.size(), View::kMaxEvents);
  EXPECT_EQ(view.events.front().text, "5");
}

}  // namespace
}  // namespace bellwether::console
