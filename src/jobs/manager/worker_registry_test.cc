#include "jobs/manager/worker_registry.h"

#include <gtest/gtest.h>

namespace bellwether::node {
namespace {

dispatch::WorkerReport report(uint32_t cores, uint32_t free, uint64_t life = 1) {
  dispatch::WorkerReport out;
  out.life = life;
  out.cores = cores;
  out.free = free;
  out.takes_work = out.healthy = true;
  out.state = "healthy";
  return out;
}

constexpr Instant kWorkerRegistryNow = Instant::from_ns(1'000'000'000'000);

TEST(WorkerRegistry, WhatWasAskedForIsNotFreeBeforeTheWorkerSaysSo) {
  WorkerRegistry registry;
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", report(4, 4)));
  EXPECT_EQ(registry.sights(kWorkerRegistryNow, {}).at(0).free, 4u);
  EXPECT_EQ(registry.sights(kWorkerRegistryNow, {{"w1", 3}}).at(0).free, 1u);
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", report(4, 1)));
  EXPECT_EQ(registry.sights(kWorkerRegistryNow, {{"w1", 3}}).at(0).free, 1u) << "it is the same three cores";
  EXPECT_EQ(registry.sights(kWorkerRegistryNow, {}).at(0).free, 1u) << "somebody else has asked for them";
}

TEST(WorkerRegistry, AWorkerThatLiesAboutItsCoresHasNoneToGive) {
  WorkerRegistry registry;
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", report(2, 9)));
  EXPECT_EQ(registry.sights(kWorkerRegistryNow, {}).at(0).free, 2u);
  EXPECT_EQ(registry.sights(kWorkerRegistryNow, {{"w1", 99}}).at(0).free, 0u);
}

TEST(WorkerRegistry, a_worker_keeps_permits_only_if_it_says_so) {
  WorkerRegistry registry;
  dispatch::WorkerReport says = report(2, 2);
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "old", says));
  says.permits = true;
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", says));
  EXPECT_FALSE(registry.sights(kWorkerRegistryNow, {}).at(0).permits);
  EXPECT_TRUE(registry.sights(kWorkerRegistryNow, {}).at(1).permits);
}

TEST(WorkerRegistry, WhoIsSilentGetsNothingNew) {
  WorkerRegistry registry;
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", report(2, 2)));
  EXPECT_TRUE(registry.sights(kWorkerRegistryNow + Duration::seconds(4), {}).at(0).takes_work);
  EXPECT_FALSE(registry.sights(kWorkerRegistryNow + Duration::seconds(6), {}).at(0).takes_work);
  EXPECT_EQ(registry.lines(kWorkerRegistryNow + Duration::seconds(6)).at(0).state, "silent");
}

TEST(WorkerRegistry, late_news_of_an_end_do_not_end_the_next_process) {
  WorkerRegistry registry;
  EXPECT_EQ(registry.ended_life("w1"), std::nullopt);
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", report(2, 2, 7)));
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", report(2, 2, 7)));
  EXPECT_EQ(registry.ended_life("w1"), 7u);
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", report(2, 2, 8)));
  EXPECT_EQ(registry.ended_life("w1"), std::nullopt) << "of one of the two";
  registry.back("w1");
  EXPECT_EQ(registry.ended_life("w1"), 8u) << "membership knows of it now";
  // The other order: membership first.
  registry.back("w1");
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", report(2, 2, 9)));
  EXPECT_EQ(registry.ended_life("w1"), 9u);
}

TEST(WorkerRegistry, WhoIsGoneIsNotThereUntilItReports) {
  WorkerRegistry registry;
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", report(2, 2)));
  registry.gone("w1");
  EXPECT_TRUE(registry.sights(kWorkerRegistryNow, {}).empty());
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", report(2, 2, 7)));
  EXPECT_EQ(registry.sights(kWorkerRegistryNow, {}).at(0).life, 7u);
}

TEST(WorkerRegistry, who_is_left_alone_gets_nothing_new_and_is_shown) {
  WorkerRegistry registry;
  const Instant now = Instant::from_ns(1'000'000'000);
  dispatch::WorkerReport report;
  report.life = 1;
  report.cores = report.free = 2;
  report.takes_work = true;
  ASSERT_TRUE(registry.heard(now, "w1", report));
  ASSERT_TRUE(registry.heard(now, "w2", report));
  const auto sights = registry.sights(now, {}, {"w1"});
  ASSERT_EQ(sights.size(), 2u);
  EXPECT_FALSE(sights[0].takes_work);
  EXPECT_TRUE(sights[1].takes_work);
}

TEST(WorkerRegistry, who_drains_what_it_has_too_much_of_is_waited_for_and_one_that_is_empty_is_not) {
  WorkerRegistry registry;
  dispatch::WorkerReport drains = report(2, 0);
  drains.takes_work = false;
  drains.state = "draining";
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", drains));
  EXPECT_FALSE(registry.sights(kWorkerRegistryNow, {}).at(0).takes_work);
  EXPECT_TRUE(registry.sights(kWorkerRegistryNow, {}).at(0).held);
  drains.free = 2;
  ASSERT_TRUE(registry.heard(kWorkerRegistryNow, "w1", drains));
  EXPECT_FALSE(registry.sights(kWorkerRegistryNow, {}).at(0).held);
}

TEST(WhyWaiting, it_counts_those_that_take_no_work_by_their_state_and_else_the_cores) {
  EXPECT_EQ(why_waiting({}), "no worker is registered");
  const auto line = [](const std::string& state, const std::string& progress) {
    dispatch::WorkerLine out;
    out.cores = 4;
    out.state = state;
    out.progress = progress;
    return out;
  };
  std::vector<dispatch::WorkerLine> all{line("draining", "idle"), line("silent", "idle"), line("draining", "normal"),
                                        line("healthy", "stuck")};
  EXPECT_EQ(why_waiting(all), "no worker accepts work: 2 draining, 1 silent, 1 stuck");
  all.push_back(line("degraded", "slow"));
  all.push_back(line("healthy", "normal"));
  EXPECT_EQ(why_waiting(all), "too few of 8 cores are free");
}

TEST(WorkerRegistry, who_is_stuck_gets_nothing_new_and_who_is_slow_only_when_there_is_no_other) {
  WorkerRegistry registry;
  const auto tell = [&](int second, uint64_t turned) {
    dispatch::WorkerReport told = report(2, 1);
    const auto possible = static_cast<uint64_t>(second) * 10;
    told.held = {{"j",
                  dispatch::JobFence(1),
                  dispatch::AssignmentId(1),
                  dispatch::AssignmentPhase::kRunning,
                  {possible, turned, 0, 0, 0, 0}}};
    const Instant now = kWorkerRegistryNow + Duration::seconds(second);
    ASSERT_TRUE(registry.heard(now, "w1", told));
  };
  const auto sight = [&](int second) {
    return registry.sights(kWorkerRegistryNow + Duration::seconds(second), {}).at(0);
  };
  const auto line = [&](int second) { return registry.lines(kWorkerRegistryNow + Duration::seconds(second)).at(0); };
  tell(0, 0);
  tell(1, 10);
  EXPECT_TRUE(sight(1).healthy);
  EXPECT_EQ(line(1).progress, "normal");
  tell(2, 15);
  EXPECT_TRUE(sight(2).takes_work);
  EXPECT_FALSE(sight(2).healthy);
  EXPECT_EQ(line(2).progress, "slow");
  for (int second = 3; second < 6; ++second) tell(second, 15);
  EXPECT_FALSE(sight(5).takes_work);
  EXPECT_EQ(line(5).progress, "stuck");
  EXPECT_EQ(line(5).state, "healthy") << "that is what it says of itself";
}

}  // namespace
}  // namespace bellwether::node
