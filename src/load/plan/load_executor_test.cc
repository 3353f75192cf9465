// Executors as scenarios write them, in our words and in those of k6.
#include <gmock/gmock.h>

#include "core/base/check.h"
#include "load/plan/load_testing.h"

namespace bellwether::plan {
namespace {

Plan plan_with(const std::vector<std::string>& executors, scenario::Overrides overrides = {}) {
  std::string yaml = "workflows:\n";
  for (std::size_t i = 0; i < executors.size(); ++i) {
    yaml += "  w" + std::to_string(i) + ": {" + executors[i] + ", steps: {a: {http: {get: 'http://h/'}}}}\n";
  }
  TestSources sources(yaml);
  sources.overrides = overrides;
  auto plan = sources.load();
  check(plan.has_value(), "the test's scenario is right");
  return std::move(*plan);
}

TEST(LoadExecutor, a_course_of_users) {
  const Plan plan =
      plan_with({"executor: ramping-vus, start_vus: 5, graceful_ramp_down: 3s, pacing: 1s, "
                 "stages: [{duration: 10s, target: 20}, {duration: 0s, target: 0}]",
                 "executor: ramping-vus, startVUs: 0, gracefulRampDown: 0s, "
                 "stages: [{duration: 1m, target: 1}]"});
  const auto& ours = std::get<RampingVus>(plan.workflows[0].executor);
  EXPECT_EQ(ours.start_vus, 5u);
  ASSERT_EQ(ours.stages.size(), 2u);
  EXPECT_EQ(ours.stages[0].duration, Duration::seconds(10));
  EXPECT_EQ(ours.stages[0].target, 20u);
  EXPECT_EQ(ours.stages[1].target, 0u);
  EXPECT_EQ(ours.graceful_ramp_down, Duration::seconds(3));
  EXPECT_EQ(ours.pacing, Delay::of(Duration::seconds(1)));
  const auto& k6 = std::get<RampingVus>(plan.workflows[1].executor);
  EXPECT_EQ(k6.start_vus, 0u);
  EXPECT_EQ(k6.graceful_ramp_down, Duration::zero());
}

TEST(LoadExecutor, a_course_of_a_rate_in_the_time_unit_of_the_workflow) {
  const Plan plan =
      plan_with({"executor: ramping-arrival-rate, startRate: 60, timeUnit: 1m, preAllocatedVUs: 3, "
                 "maxVUs: 9, stages: [{duration: 10s, target: 600}, {duration: 5s, target: 0}]",
                 "start_rate: 10/s, vus: 2, stages: [{duration: 1s, target: 30/m}]"});
  const auto& k6 = std::get<ArrivalRate>(plan.workflows[0].executor);
  ASSERT_EQ(k6.stages.size(), 2u);
  EXPECT_DOUBLE_EQ(k6.stages[0].from_per_s, 1);
  EXPECT_DOUBLE_EQ(k6.stages[0].to_per_s, 10);
  EXPECT_DOUBLE_EQ(k6.stages[1].from_per_s, 10);
  EXPECT_DOUBLE_EQ(k6.stages[1].to_per_s, 0);
  EXPECT_EQ(k6.users.preallocated, 3u);
  EXPECT_EQ(k6.users.most, 9u);
  const auto& ours = std::get<ArrivalRate>(plan.workflows[1].executor);
  EXPECT_DOUBLE_EQ(ours.stages[0].from_per_s, 10);
  EXPECT_DOUBLE_EQ(ours.stages[0].to_per_s, 0.5);
}

TEST(LoadExecutor, numbers_of_iterations) {
  const Plan plan = plan_with({"executor: shared-iterations, vus: 3, iterations: 30, maxDuration: 5s",
                               "executor: per-vu-iterations, vus: 3, iterations: 4", "executor: shared-iterations"});
  const auto& shared = std::get<Iterations>(plan.workflows[0].executor);
  EXPECT_TRUE(shared.shared);
  EXPECT_EQ(shared.vus, 3u);
  EXPECT_EQ(shared.iterations, 30u);
  EXPECT_EQ(shared.max_duration, Duration::seconds(5));
  const auto& each = std::get<Iterations>(plan.workflows[1].executor);
  EXPECT_FALSE(each.shared);
  EXPECT_EQ(each.max_duration, Duration::minutes(10));
  const auto& usual = std::get<Iterations>(plan.workflows[2].executor);
  EXPECT_EQ(usual.vus, 1u);
  EXPECT_EQ(usual.iterations, 1u);
}

TEST(LoadExecutor, without_a_name_its_keys_say_which_it_is) {
  const Plan plan =
      plan_with({"vus: 1, duration: 1s", "stages: [{duration: 1s, target: 3}]", "vus: 2, iterations: 8",
                 "rate: 5/s, duration: 1s, vus: 1", "start_rate: 0, stages: [{duration: 1s, target: 3/s}], vus: 1"});
  std::vector<std::string_view> names;
  for (const Workflow& workflow : plan.workflows) names.push_back(facts_of(workflow.executor).name);
  EXPECT_THAT(names, testing::ElementsAre("constant-vus", "ramping-vus", "shared-iterations", "constant-arrival-rate",
                                          "ramping-arrival-rate"));
}

TEST(LoadExecutor, the_command_line_stretches_a_course_and_keeps_its_shape) {
  const Plan plan = plan_with({"stages: [{duration: 10s, target: 3}, {duration: 30s, target: 0}]",
                               "start_rate: 0, stages: [{duration: 10s, target: 3/s}], vus: 1", "iterations: 8"},
                              {.vus = 6, .duration = Duration::seconds(4)});
  const auto& users = std::get<RampingVus>(plan.workflows[0].executor);
  EXPECT_EQ(users.stages[0].duration, Duration::seconds(1));
  EXPECT_EQ(users.stages[1].duration, Duration::seconds(3));
  EXPECT_EQ(most_vus(users.start_vus, users.stages), 3u);
  const auto& rate = std::get<ArrivalRate>(plan.workflows[1].executor);
  EXPECT_EQ(rate.stages[0].duration, Duration::seconds(4));
  EXPECT_EQ(rate.users.most, 6u);
  const auto& counted = std::get<Iterations>(plan.workflows[2].executor);
  EXPECT_EQ(counted.vus, 6u);
  EXPECT_EQ(counted.max_duration, Duration::seconds(4));
}

TEST(LoadExecutor, who_is_controlled_from_outside) {
  const std::vector<std::string> texts{
      "executor: externally-controlled, vus: 5, maxVUs: 50, duration: 10m, gracefulRampDown: 3s, pacing: 1s",
      "executor: externally-controlled", "executor: externally-controlled, vus: 0, duration: 0"};
  const Plan plan = plan_with(texts);
  const auto& full = std::get<ExternallyControlled>(plan.workflows[0].executor);
  EXPECT_EQ(full.vus, 5u);
  EXPECT_EQ(full.vus_most, 50u);
  EXPECT_EQ(full.duration, Duration::minutes(10));
  EXPECT_EQ(full.graceful_ramp_down, Duration::seconds(3));
  EXPECT_EQ(full.pacing, Delay::of(Duration::seconds(1)));
  EXPECT_FALSE(facts_of(full).endless);
  for (const std::size_t i : {1u, 2u}) {
    const auto& usual = std::get<ExternallyControlled>(plan.workflows[i].executor);
    EXPECT_EQ(usual.vus, i == 1 ? 1u : 0u);
    EXPECT_EQ(usual.vus_most, 1u);
    EXPECT_FALSE(usual.duration);
    EXPECT_TRUE(facts_of(usual).endless);
  }
  const Plan told = plan_with(texts, {.vus = 70, .duration = Duration::seconds(4)});
  for (const Workflow& workflow : told.workflows) {
    const auto& one = std::get<ExternallyControlled>(workflow.executor);
    EXPECT_EQ(one.vus, 70u);
    EXPECT_EQ(one.vus_most, 70u) << "the command line wins";
    EXPECT_EQ(one.duration, Duration::seconds(4));
  }
}

TEST(LoadExecutor, its_load_in_words) {
  const Plan plan = plan_with({"vus: 1, duration: 10s", "executor: ramping-vus, stages: [{duration: 90s, target: 20}]",
                               "executor: shared-iterations, vus: 4, iterations: 1000",
                               "executor: per-vu-iterations, vus: 4, iterations: 5, max_duration: 1m",
                               "executor: constant-arrival-rate, rate: 2.5/s, duration: 30s, vus: 2",
                               "start_rate: 10/s, vus: 2, stages: [{duration: 5s, target: 70/s}]"});
  const auto text = [&](std::size_t workflow) { return load_text(plan.workflows[workflow].executor); };
  EXPECT_EQ(text(0), "1 VU for 10s");
  EXPECT_EQ(text(1), "up to 20 VUs in 1 stage, 1m30s");
  EXPECT_EQ(text(2), "1,000 iterations by 4 VUs in at most 10m");
  EXPECT_EQ(text(3), "5 iterations by each of 4 VUs in at most 1m");
  EXPECT_EQ(text(4), "2.5/s for 30s");
  EXPECT_EQ(text(5), "up to 70/s in 1 stage, 5s");
  EXPECT_EQ(load_text(Once{}), "runs once");
}

TEST(LoadExecutor, arrivals_and_users_with_a_pace_have_due_times) {
  const Plan plan = plan_with({"vus: 1, duration: 10s", "vus: 1, duration: 10s, pacing: 1s",
                               "executor: constant-arrival-rate, rate: 2/s, duration: 30s, vus: 2"});
  EXPECT_FALSE(has_due_times(plan, plan.steps[0]));
  EXPECT_TRUE(has_due_times(plan, plan.steps[1]));
  EXPECT_TRUE(has_due_times(plan, plan.steps[2]));
}

TEST(LoadExecutor, targets_are_the_origins_that_are_known_before_the_run) {
  TestSources sources(
      "workflows:\n"
      "  w:\n"
      "    vus: 1\n"
      "    duration: 1s\n"
      "    steps:\n"
      "      a: {http: {get: 'http://h:8080/secret?token=1'}}\n"
      "      b: {http: {get: 'https://h'}}\n"
      "      c: {http: {get: 'http://h:8080/${vu}'}}\n"
      "      d: {http: {get: 'http://h${vu}.example/'}}\n");
  const auto plan = sources.load();
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(targets_of(*plan), (std::vector<std::string>{"http://h:8080", "https://h"}));
}

}  // namespace
}  // namespace bellwether::plan
