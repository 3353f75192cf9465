// The order of steps: chains, blocks, conditions, rounds, alternatives and groups.
#include <gtest/gtest.h>

#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

Plan plan_of_flow(const std::string& steps, const std::string& more = "") {
  TestSources sources(
      "defaults: {http: {base: http://h}}\nworkflows:\n  w:\n    vus: 1\n    duration: 1s\n    steps:\n" + steps +
      more);
  auto plan = sources.load();
  EXPECT_TRUE(plan.has_value()) << sources.errors();
  return plan ? std::move(*plan) : Plan();
}

const Block& block_of(const Plan& plan, std::size_t step) {
  return std::get<Block>(plan.workflows[0].steps[step].work);
}

TEST(Flow, steps_that_each_come_after_the_one_before_are_a_chain) {
  const Plan plan = plan_of_flow(R"yaml(
      c: {after: [a, b, a], http: {get: /}}
      b: {after: a, http: {get: /}}
      a: {http: {get: /}}
)yaml");
  const Workflow& workflow = plan.workflows[0];
  EXPECT_EQ(workflow.order.steps, (std::vector<uint16_t>{2, 1, 0}));
  EXPECT_TRUE(workflow.order.is_chain);
  EXPECT_EQ(workflow.order.width, 1u);
  EXPECT_EQ(workflow.steps[0].after, (std::vector<uint16_t>{2, 1})) << "each once";
}

TEST(Flow, the_width_is_of_steps_that_may_run_side_by_side) {
  const Plan plan = plan_of_flow(R"yaml(
      a: {http: {get: /}}
      b: {after: a, http: {get: /}}
      c: {after: a, http: {get: /}}
      d: {after: c, http: {get: /}}
      e: {after: c, choose: {f: {http: {get: /}}, g: {steps: {h: {http: {get: /}}, i: {http: {get: /}}}}}}
)yaml");
  EXPECT_EQ(plan.workflows[0].order.width, 4u) << "b, d, h and i";
  EXPECT_FALSE(plan.workflows[0].order.is_chain);
}

TEST(Flow, a_block_has_its_steps_and_the_scenario_all_of_them) {
  const Plan plan = plan_of_flow(R"yaml(
      a: {http: {get: /}}
      visit:
        after: a
        repeat: 3
        group: shop
        tags: {api: v1}
        steps:
          b: {http: {get: "/${a.status}/${repeat.index}"}, tags: {api: v2}}
          draw: {after: b, choose: {c: {weight: 3, http: {get: /}}, d: {http: {get: /}, group: other}}}
      e: {after: visit, http: {get: "/${b.json.$.id}"}}
)yaml");
  const Workflow& workflow = plan.workflows[0];
  EXPECT_EQ(workflow.order.steps, (std::vector<uint16_t>{0, 1, 6}));
  EXPECT_EQ(workflow.orders, 3);
  EXPECT_EQ(block_of(plan, 1).order.steps, (std::vector<uint16_t>{2, 3}));
  EXPECT_TRUE(block_of(plan, 1).weights.empty());
  EXPECT_EQ(block_of(plan, 3).weights, (std::vector<uint64_t>{3, 4}));
  EXPECT_NE(block_of(plan, 1).order.number, block_of(plan, 3).order.number);
  ASSERT_TRUE(workflow.steps[1].repeat);
  EXPECT_EQ(workflow.steps[1].repeat->times, 3u);
  EXPECT_EQ(workflow.slot_names[*workflow.steps[1].repeat->index], "visit.repeat.index");
  EXPECT_EQ(plan.steps[2].name, "w.b");
  EXPECT_EQ(plan.steps[2].tags, (std::vector<Tag>{{"api", "v2"}, {"group", "shop"}}));
  EXPECT_EQ(plan.steps[5].tags, (std::vector<Tag>{{"group", "other"}, {"api", "v1"}}));
  EXPECT_FALSE(plan.steps[1].measured);
}

TEST(Flow, each_group_is_a_metric_with_a_series_in_each_workflow) {
  const Plan plan = plan_of_flow(R"yaml(
      a: {http: {get: /}, group: shop}
      b: {after: a, http: {get: /}, group: shop, metric: {own: 1}}
      c: {after: b, http: {get: /}, group: pay}
)yaml",
                                 "  v: {vus: 1, duration: 1s, steps: {a: {http: {get: /}, group: shop}}}\n"
                                 "metrics: {own: counter}\n"
                                 "thresholds: {\"group_duration{group:shop}\": [\"p(95)<2000\"], "
                                 "\"group_duration{workflow:v,group:shop}\": [\"max<9\"]}\n");
  ASSERT_EQ(plan.metrics.size(), 3u);
  EXPECT_EQ(plan.metrics[1].name, "group_duration{group:shop}");
  EXPECT_EQ(plan.metrics[2].name, "group_duration{group:pay}");
  EXPECT_TRUE(plan.metrics[1].is_time());
  ASSERT_EQ(plan.series.size(), 4u);
  EXPECT_EQ(plan.workflows[0].groups, (std::vector<uint16_t>{0, 2}));
  EXPECT_EQ(plan.workflows[1].groups, std::vector<uint16_t>{3});
  EXPECT_EQ(plan.workflows[0].steps[1].group, 0);
  EXPECT_EQ(plan.workflows[0].steps[2].group, 1);
  EXPECT_EQ(plan.thresholds[0].metric, "group_duration{group:shop}");
  EXPECT_EQ(plan.thresholds[0].workflow, std::nullopt);
  EXPECT_EQ(plan.thresholds[1].workflow, 1);
}

TEST(Flow, an_order_begins_with_the_measured_steps_that_no_measured_one_comes_before) {
  const Plan plan = plan_of_flow(R"yaml(
      a: {action: {set: {x: y}}}
      b: {after: a, if: {"${x}": y}, http: {get: /}}
      c: {after: b, steps: {d: {action: {http: {get: /}}}, e: {after: d, http: {get: /}}}}
      f: {after: c, http: {get: /}}
      g: {http: {get: /}}
)yaml");
  EXPECT_EQ(plan.workflows[0].order.first, (std::vector<uint16_t>{6, 2}));
  EXPECT_EQ(block_of(plan, 2).order.first, std::vector<uint16_t>{4});
}

}  // namespace
}  // namespace bellwether::plan
