// Workflows that are controlled from outside: how many users they have survives whoever runs them, and whoever says it.
#include <gmock/gmock.h>

#include "jobs/dispatch/job.h"
#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;

class Scaled : public ::testing::Test {
 protected:
  static WorkflowSpec spec(const char* name = "told") {
    WorkflowSpec spec = load_spec(name, kMinute);
    spec.vus = 40;
    spec.told_vus = 5;
    return spec;
  }
  Scaled() : world({spec()}, 1) {
    for (const char* name : {"w1", "w2"}) world.add(name, 2);
  }
  void step_for(Duration span) {
    for (int64_t i = 0; i < span / kStep; ++i) world.step(kStep);
  }
  Status scale(uint32_t vus, const std::string& workflow = "") {
    JobEffects out;
    const Status done = world.job().scale(world.now(), workflow, vus, "ann", out);
    world.carry_out(out);
    return done;
  }
  // What the shares that run were told last.
  std::vector<uint32_t> told() {
    std::vector<uint32_t> out;
    for (const auto& [name, worker] : world.workers()) {
      for (const auto& [id, share] : worker.shares) {
        if (worker.alive && share.phase == SharePhase::kRunning) out.push_back(share.vus.value_or(0));
      }
    }
    return out;
  }

  JobWorld world;
};

TEST_F(Scaled, EachShareBeginsWithTheNumberOfThePlan) {
  ASSERT_TRUE(world.begins());
  EXPECT_EQ(told(), (std::vector<uint32_t>{5, 5}));
}

TEST_F(Scaled, NobodyIsToldBeforeAQuorumKnowsTheNumber) {
  ASSERT_TRUE(world.begins());
  step_for(Duration::seconds(1));
  world.register_stands = false;
  ASSERT_TRUE(scale(12));
  step_for(Duration::seconds(1));
  EXPECT_THAT(told(), AllOf(testing::SizeIs(2), Each(5u)));
  world.register_stands = true;
  step_for(Duration::seconds(1));
  EXPECT_THAT(told(), AllOf(testing::SizeIs(2), Each(12u)));
  const auto& events = world.sheet().events;
  const auto scaled = std::find_if(events.begin(), events.end(), [](const auto& e) { return e.kind == "scaled"; });
  ASSERT_NE(scaled, events.end());
  EXPECT_EQ(scaled->detail, "workflow 'told': 5 to 12 virtual users, by 'ann'");
}

TEST_F(Scaled, WhoGoesOnForADeadWorkerBeginsWithTheNumberOfNow) {
  ASSERT_TRUE(world.begins());
  ASSERT_TRUE(scale(12));
  step_for(Duration::seconds(5));
  world.die("w1");
  step_for(Duration::seconds(3));
  EXPECT_THAT(kinds(world.sheet()), Contains("share_moved"));
  EXPECT_THAT(told(), AllOf(testing::SizeIs(2), Each(12u)));
  expect_end(world, kMinute * 2);
}

TEST_F(Scaled, OneWhoseOrderWentOutBeforeIsToldWhenItIsReady) {
  world.begin();
  ASSERT_TRUE(scale(7));
  ASSERT_TRUE(world.run_until_begun());
  step_for(Duration::seconds(1));
  EXPECT_THAT(told(), AllOf(testing::SizeIs(2), Each(7u)));
}

TEST_F(Scaled, AnotherOwnerTellsWhatThisOneDidNotLiveToTell) {
  ASSERT_TRUE(world.begins());
  ASSERT_TRUE(scale(12));
  step_for(kStep);
  for (auto& [name, worker] : world.workers()) {
    for (auto& [id, share] : worker.shares) share.vus = 5;  // the word was lost with the owner
  }
  world.replace_owner();
  step_for(Duration::seconds(1));
  EXPECT_THAT(told(), AllOf(testing::SizeIs(2), Each(12u)));
}

TEST_F(Scaled, AWorkerThatLeavesHandsItsUsersOverWithoutAGap) {
  ASSERT_TRUE(world.begins());
  step_for(Duration::seconds(2));
  world.worker("w1").leaves = true;
  step_for(Duration::seconds(1));
  ASSERT_TRUE(scale(9));
  step_for(Duration::seconds(5));
  EXPECT_THAT(kinds(world.sheet()), Contains("share_moved"));
  EXPECT_THAT(told(), AllOf(testing::SizeIs(2), Each(9u)));
  expect_end(world, kMinute * 2);
  EXPECT_EQ(world.looks_without_load, 0u);
}

TEST_F(Scaled, WhatCannotBeIsRefused) {
  ASSERT_TRUE(world.begins());
  EXPECT_EQ(scale(41).error().message, "workflow 'told' may have at most 40 virtual users ('max_vus'), not 41");
  EXPECT_EQ(scale(3, "other").error().code, Errc::kNotFound);
  EXPECT_THAT(scale(3, "other").error().message, HasSubstr("there is: told"));
  EXPECT_TRUE(scale(0, "told"));
  ASSERT_TRUE(world.run(kMinute * 2));
  EXPECT_EQ(scale(3).error().code, Errc::kClosed);
}

TEST_F(Scaled, WhereThereAreSeveralOneIsNamed) {
  JobWorld two({spec("a"), spec("b")}, 1);
  two.add("w1", 2);
  ASSERT_TRUE(two.begins());
  JobEffects out;
  const Status unnamed = two.job().scale(two.now(), "", 3, "ann", out);
  ASSERT_FALSE(unnamed);
  EXPECT_EQ(unnamed.error().message, "several workflows are controlled from outside; name one: a, b");
  EXPECT_TRUE(two.job().scale(two.now(), "b", 3, "ann", out));
  EXPECT_EQ(two.sheet().workflows[1].vus, 3u);
  JobWorld none({load_spec("w", kMinute)}, 1);
  EXPECT_EQ(none.job().scale(none.now(), "", 3, "ann", out).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace bellwether::dispatch
