#include <gtest/gtest.h>

#include "core/base/check.h"
#include "jobs/dispatch/job_record.h"
#include "load/plan/load_testing.h"

namespace bellwether::dispatch {
namespace {

plan::Plan plan_of(const std::string& executor) {
  plan::TestSources sources("workflows: {w: {" + executor + ", steps: {a: {http: {get: 'http://h/'}}}}}\n");
  auto plan = sources.load();
  check(plan.has_value(), "the test's scenario is right");
  return std::move(*plan);
}

TEST(JobSpec, a_course_is_as_long_as_its_stages_and_needs_its_most_users) {
  const JobSpec spec = spec_of(plan_of(
      "start_time: 3s, executor: ramping-vus, stages: [{duration: 10s, target: 40}, {duration: 5s, target: 0}]"));
  ASSERT_EQ(spec.size(), 1u);
  EXPECT_EQ(spec[0].length, Duration::seconds(18));
  EXPECT_EQ(spec[0].vus, 40u);
  EXPECT_FALSE(spec[0].rebalance);
}

TEST(JobSpec, an_arrival_rate_needs_the_users_that_it_may_hire) {
  const JobSpec spec = spec_of(plan_of("rate: 5/s, duration: 10s, vus: {preallocated: 2, max: 30}, rebalance: true"));
  EXPECT_EQ(spec[0].length, Duration::seconds(10));
  EXPECT_EQ(spec[0].vus, 30u);
  EXPECT_TRUE(spec[0].rebalance);
}

TEST(JobSpec, the_teardown_waits_for_all_others_and_is_known_as_such) {
  plan::TestSources sources(
      "setup: {steps: {a: {http: {get: 'http://h/'}}}}\n"
      "workflows: {w: {vus: 1, duration: 1s, steps: {a: {http: {get: 'http://h/'}}}}}\n"
      "teardown: {steps: {a: {http: {get: 'http://h/'}}}}\n");
  const auto plan = sources.load();
  ASSERT_TRUE(plan);
  const JobSpec spec = spec_of(*plan);
  ASSERT_EQ(spec.size(), 3u);
  EXPECT_FALSE(spec[0].is_teardown);
  EXPECT_FALSE(spec[1].is_teardown);
  EXPECT_TRUE(spec[2].is_teardown);
  EXPECT_EQ(spec[2].depends, (std::vector<uint16_t>{0, 1}));
}

TEST(JobSpec, what_counts_iterations_says_how_many) {
  const JobSpec spec = spec_of(plan_of("executor: per-vu-iterations, vus: 3, iterations: 5, max_duration: 9s"));
  ASSERT_TRUE(spec[0].counted);
  EXPECT_EQ(spec[0].counted->planned(0, 1), 15u);
  EXPECT_EQ(spec[0].length, Duration::seconds(9));
  EXPECT_FALSE(spec_of(plan_of("vus: 1, duration: 1s"))[0].counted);
}

TEST(JobSpec, what_is_told_its_users_says_with_how_many_it_begins) {
  const JobSpec spec = spec_of(plan_of("executor: externally-controlled, vus: 5, max_vus: 8"));
  EXPECT_EQ(spec[0].told_vus, 5u);
  EXPECT_EQ(spec[0].vus, 8u);
  EXPECT_TRUE(spec[0].endless);
  EXPECT_FALSE(spec_of(plan_of("executor: externally-controlled, vus: 5, duration: 10s"))[0].endless);
}

}  // namespace
}  // namespace bellwether::dispatch
