#include <gmock/gmock.h>

#include "load/plan/sequence.h"

namespace bellwether::plan {
namespace {

using testing::ElementsAre;

// Workflows of 100 users each with a measured step, by what they depend on.
class StagesTest : public testing::Test {
 protected:
  uint16_t add(std::vector<uint16_t> depends = {}, Priority priority = Priority::kAuto) {
    const auto index = static_cast<uint16_t>(plan_.workflows.size());
    Workflow& workflow = plan_.workflows.emplace_back();
    workflow.depends = std::move(depends);
    workflow.priority = priority;
    workflow.executor = ConstantVus{.vus = 100, .duration = Duration::seconds(1)};
    StepInfo& step = plan_.steps.emplace_back();
    step.workflow = index;
    return index;
  }
  // The workflows of each stage.
  std::vector<std::vector<uint16_t>> order(uint32_t cores) {
    std::vector<std::vector<uint16_t>> out;
    for (const Stage& stage : stages_of(plan_, cores)) {
      auto& one = out.emplace_back();
      for (const CoreGrant& grant : stage.grants) one.push_back(grant.workflow);
    }
    return out;
  }

  Plan plan_;
};

TEST_F(StagesTest, workflows_follow_what_they_depend_on) {
  const uint16_t first = add();
  const uint16_t second = add({first});
  add({first});
  add({second});
  add();
  EXPECT_THAT(order(2), ElementsAre(ElementsAre(0, 4), ElementsAre(1, 2), ElementsAre(3)));
}

TEST_F(StagesTest, those_that_say_no_priority_share_all_cores_however_many_they_are) {
  for (int i = 0; i < 3; ++i) add();
  const std::vector<Stage> stages = stages_of(plan_, 2);
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_FALSE(stages[0].apart);
  EXPECT_THAT(stages[0].grants, ElementsAre(CoreGrant{0, 2}, CoreGrant{1, 2}, CoreGrant{2, 2}));
}

TEST_F(StagesTest, where_one_says_a_priority_each_has_cores_of_its_own) {
  add({}, Priority::kLow);
  add();
  add({}, Priority::kNormal);
  const std::vector<Stage> stages = stages_of(plan_, 8);
  ASSERT_EQ(stages.size(), 1u);
  EXPECT_TRUE(stages[0].apart);
  EXPECT_THAT(stages[0].grants, ElementsAre(CoreGrant{2, 3}, CoreGrant{1, 3}, CoreGrant{0, 2}));
}

TEST_F(StagesTest, what_finds_no_cores_waits_for_those_that_did) {
  add();
  add({}, Priority::kHigh);
  add({}, Priority::kExclusive);
  EXPECT_THAT(order(2), ElementsAre(ElementsAre(2), ElementsAre(1), ElementsAre(0)));
  EXPECT_THAT(order(4), ElementsAre(ElementsAre(2), ElementsAre(1, 0)));
}

TEST_F(StagesTest, a_priority_matters_among_those_that_wait_for_the_same) {
  const uint16_t first = add({}, Priority::kLow);
  add({first});
  const std::vector<Stage> stages = stages_of(plan_, 8);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_THAT(stages[0].grants, ElementsAre(CoreGrant{0, 2}));
  EXPECT_TRUE(stages[0].apart);
  EXPECT_THAT(stages[1].grants, ElementsAre(CoreGrant{1, 8}));
  EXPECT_FALSE(stages[1].apart);
  EXPECT_EQ(cores_used(plan_, 8), 8u);
}

TEST_F(StagesTest, cores_that_nobody_gets_are_not_used) {
  add({}, Priority::kLow);
  EXPECT_EQ(cores_used(plan_, 8), 2u);
  add({}, Priority::kLow);
  EXPECT_EQ(cores_used(plan_, 8), 4u);
  add({0}, Priority::kNormal);
  EXPECT_EQ(cores_used(plan_, 8), 6u);
}

TEST_F(StagesTest, a_run_takes_as_long_as_its_stages_one_after_the_other) {
  EXPECT_EQ(planned_length(plan_, 2), Duration::zero());
  plan_.workflows.resize(3);
  for (Workflow& workflow : plan_.workflows)
    workflow.executor = ConstantVus{.vus = 8, .duration = Duration::seconds(10)};
  EXPECT_EQ(planned_length(plan_, 2), Duration::seconds(10));
  plan_.workflows[0].depends = {2};  // in the file before what it waits for
  plan_.workflows[2].start_time = Duration::seconds(5);
  EXPECT_EQ(planned_length(plan_, 2), Duration::seconds(25));
  EXPECT_EQ(planned_length(plan_, std::nullopt), Duration::seconds(25));
  plan_.workflows[1].start_time = Duration::seconds(7);
  EXPECT_EQ(planned_length(plan_, 2), Duration::seconds(27))
      << "what waits for nothing is waited for by all that waits";
  EXPECT_EQ(planned_length(plan_, std::nullopt), Duration::seconds(25));
  plan_.workflows[1].executor = ExternallyControlled{};
  EXPECT_EQ(planned_length(plan_, 2), Duration::zero()) << "until it is stopped";
}

TEST_F(StagesTest, what_finds_no_cores_makes_the_run_longer) {
  add({}, Priority::kHigh);
  add({}, Priority::kLow);
  EXPECT_EQ(planned_length(plan_, 2), Duration::seconds(2));
  EXPECT_EQ(planned_length(plan_, 4), Duration::seconds(1));
}

TEST_F(StagesTest, what_tests_nothing_goes_first_among_ranked_ones) {
  add({}, Priority::kHigh);
  add();
  plan_.steps[1].measured = false;
  EXPECT_FALSE(is_test(plan_, 1));
  EXPECT_TRUE(is_test(plan_, 0));
  EXPECT_THAT(order(4), ElementsAre(ElementsAre(1), ElementsAre(0)));
}

}  // namespace
}  // namespace bellwether::plan
