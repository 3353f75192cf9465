// What workflows leave for others: merged in any order, safe before it is used, and never waited for without end.
#include <gmock/gmock.h>

#include "dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

using testing::HasSubstr;

// "auth" leaves a token for "browse".
JobSpec two_layers() {
  JobSpec spec{load_spec("auth", Duration::seconds(10)), load_spec("browse", Duration::seconds(10), {0})};
  spec[0].provides = {"token"};
  spec[1].uses = {{0, 0, "token", true}};
  return spec;
}

JobWorld world_of_two(uint64_t seed = 1) {
  JobWorld world(two_layers(), seed);
  world.add("w1", 2);
  world.add("w2", 2);
  world.begin();
  return world;
}

// Until no share of the first workflow runs any more.
void run_first_layer(JobWorld& world) {
  ASSERT_TRUE(world.run_until_begun());
  for (int i = 0; i < 120 && !is_final(world.sheet().workflows[0].state); ++i) world.step(Duration::millis(100));
  ASSERT_EQ(world.sheet().workflows[0].state, WorkflowState::kCompleted);
}

std::vector<std::string> given_to_browse(const JobWorld& world) {
  std::vector<std::string> out;
  for (const auto& [id, order] : world.orders()) {
    if (order.workflow != 1) continue;
    EXPECT_EQ(order.context_version, 1u);
    for (const plan::Given& one : order.given) out.push_back(one.text);
  }
  return out;
}

TEST(JobContext, keeps_the_lowest_user_s_later_value_in_whatever_order_they_come) {
  const plan::Provided early{0, 1, Duration::seconds(1), "early"};
  const plan::Provided late{0, 1, Duration::seconds(2), "late"};
  const plan::Provided other{0, 2, Duration::seconds(3), "of another user"};
  JobContext one;
  EXPECT_TRUE(one.merge(3, ShareId(1), other));
  EXPECT_TRUE(one.merge(3, ShareId(2), early));
  EXPECT_TRUE(one.merge(3, ShareId(3), late));
  EXPECT_FALSE(one.merge(3, ShareId(2), early));
  EXPECT_EQ(one.version, 3u);
  JobContext same;
  EXPECT_TRUE(same.merge(3, ShareId(3), late));
  EXPECT_FALSE(same.merge(3, ShareId(2), early));
  EXPECT_FALSE(same.merge(3, ShareId(1), other));
  EXPECT_EQ(one.values, same.values);
  EXPECT_EQ(*one.find(3, 0), "late");
  EXPECT_EQ(one.find(3, 1), nullptr);
  EXPECT_EQ(one.find(2, 0), nullptr);
}

TEST(JobContext, of_one_user_and_moment_the_later_share_wins) {
  const plan::Provided a{0, 1, Duration::seconds(1), "a"};
  const plan::Provided b{0, 1, Duration::seconds(1), "b"};
  JobContext one;
  one.merge(0, ShareId(2), b);
  EXPECT_FALSE(one.merge(0, ShareId(1), a));
  EXPECT_EQ(*one.find(0, 0), "b");
}

TEST(JobLayers, values_are_given_to_whoever_uses_them) {
  JobWorld world = world_of_two();
  EXPECT_TRUE(world.run(Duration::minutes(1)));
  EXPECT_EQ(world.sheet().state, JobState::kCompleted);
  const auto given = given_to_browse(world);
  ASSERT_EQ(given.size(), 2u);
  EXPECT_THAT(given[0], HasSubstr("token of part "));
  EXPECT_EQ(given[0], given[1]) << "everybody begins with the same";
}

TEST(JobLayers, nothing_begins_before_a_quorum_has_the_values) {
  JobWorld world = world_of_two();
  ASSERT_TRUE(world.run_until_begun());
  for (int i = 0; i < 95; ++i) world.step(Duration::millis(100));
  world.register_stands = false;
  for (int i = 0; i < 150; ++i) world.step(Duration::millis(100));
  EXPECT_EQ(world.sheet().workflows[0].state, WorkflowState::kCompleted);
  EXPECT_EQ(world.sheet().workflows[1].state, WorkflowState::kPending);
  EXPECT_TRUE(given_to_browse(world).empty());
  world.register_stands = true;
  EXPECT_TRUE(world.run(Duration::minutes(1)));
  EXPECT_EQ(world.sheet().state, JobState::kCompleted);
  EXPECT_EQ(given_to_browse(world).size(), 2u);
}

TEST(JobLayers, without_a_quorum_for_long_the_rest_is_skipped) {
  JobWorld world = world_of_two();
  ASSERT_TRUE(world.run_until_begun());
  for (int i = 0; i < 95; ++i) world.step(Duration::millis(100));
  world.register_stands = false;
  for (int i = 0; i < 400; ++i) world.step(Duration::millis(100));
  world.register_stands = true;
  EXPECT_TRUE(world.run(Duration::minutes(1)));
  EXPECT_EQ(world.sheet().state, JobState::kPartial);
  EXPECT_EQ(world.sheet().workflows[1].state, WorkflowState::kSkipped);
  EXPECT_THAT(world.sheet().workflows[1].why, HasSubstr("no quorum"));
  EXPECT_EQ(world.sheet().events.back().kind, "layer_sync_failed");
}

TEST(JobLayers, another_owner_has_the_values_of_the_last_one) {
  JobWorld world = world_of_two();
  run_first_layer(world);
  world.step(Duration::millis(10));
  world.replace_owner();
  EXPECT_TRUE(world.run(Duration::minutes(1)));
  EXPECT_EQ(world.sheet().state, JobState::kCompleted);
  EXPECT_FALSE(given_to_browse(world).empty());
}

TEST(JobLayers, another_owner_asks_for_values_that_no_quorum_had) {
  JobWorld world = world_of_two();
  ASSERT_TRUE(world.run_until_begun());
  for (int i = 0; i < 95; ++i) world.step(Duration::millis(100));
  // The sheets are written, the values are not: as when the owner dies between the two.
  world.loses_context = true;
  for (int i = 0; i < 10; ++i) world.step(Duration::millis(100));
  ASSERT_EQ(world.sheet().workflows[0].state, WorkflowState::kCompleted);
  world.loses_context = false;
  world.replace_owner();
  EXPECT_TRUE(world.run(Duration::minutes(1)));
  EXPECT_EQ(world.sheet().state, JobState::kCompleted);
  ASSERT_FALSE(given_to_browse(world).empty());
  EXPECT_THAT(given_to_browse(world)[0], HasSubstr("token of part "));
}

TEST(JobLayers, another_owner_that_comes_late_to_a_border_ends_the_job) {
  JobWorld world = world_of_two();
  ASSERT_TRUE(world.run_until_begun());
  for (int i = 0; i < 50; ++i) world.step(Duration::millis(100));
  world.register_stands = false;
  world.forget_owner();
  for (int i = 0; i < 500; ++i) world.step(Duration::millis(100));
  world.register_stands = true;
  world.replace_owner();
  EXPECT_TRUE(world.run(Duration::minutes(1)));
  EXPECT_EQ(world.sheet().state, JobState::kPartial);
}

TEST(JobLayers, a_missing_value_is_told_and_the_rest_goes_on) {
  JobWorld world = world_of_two();
  world.provides = false;
  EXPECT_TRUE(world.run(Duration::minutes(1)));
  EXPECT_EQ(world.sheet().state, JobState::kCompleted);
  const auto& events = world.sheet().events;
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const JobEvent& one) {
    return one.kind == "value_missing" && one.detail.find("'auth' provided no 'token' for 'browse'") == 9;
  }));
}

}  // namespace
}  // namespace bellwether::dispatch
