#include "node/manager/worker_registry.h"

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

constexpr Instant kNow = Instant::from_ns(1'000'000'000'000);

TEST(WorkerRegistry, WhatWasAskedForIsNotFreeBeforeTheWorkerSaysSo) {
  WorkerRegistry registry;
  ASSERT_TRUE(registry.heard(kNow, "w1", report(4, 4)));
  EXPECT_EQ(registry.sights(kNow, {}).at(0).free, 4u);
  EXPECT_EQ(registry.sights(kNow, {{"w1", 3}}).at(0).free, 1u);
  ASSERT_TRUE(registry.heard(kNow, "w1", report(4, 1)));
  EXPECT_EQ(registry.sights(kNow, {{"w1", 3}}).at(0).free, 1u) << "it is the same three cores";
  EXPECT_EQ(registry.sights(kNow, {}).at(0).free, 1u) << "somebody else has asked for them";
}

TEST(WorkerRegistry, AWorkerThatLiesAboutItsCoresHasNoneToGive) {
  WorkerRegistry registry;
  ASSERT_TRUE(registry.heard(kNow, "w1", report(2, 9)));
  EXPECT_EQ(registry.sights(kNow, {}).at(0).free, 2u);
  EXPECT_EQ(registry.sights(kNow, {{"w1", 99}}).at(0).free, 0u);
}

TEST(WorkerRegistry, WhoIsSilentGetsNothingNew) {
  WorkerRegistry registry;
  ASSERT_TRUE(registry.heard(kNow, "w1", report(2, 2)));
  EXPECT_TRUE(registry.sights(kNow + Duration::seconds(4), {}).at(0).takes_work);
  EXPECT_FALSE(registry.sights(kNow + Duration::seconds(6), {}).at(0).takes_work);
  EXPECT_EQ(registry.lines(kNow + Duration::seconds(6)).at(0).state, "silent");
}

TEST(WorkerRegistry, WhoIsGoneIsNotThereUntilItReports) {
  WorkerRegistry registry;
  ASSERT_TRUE(registry.heard(kNow, "w1", report(2, 2)));
  registry.gone("w1");
  EXPECT_TRUE(registry.sights(kNow, {}).empty());
  ASSERT_TRUE(registry.heard(kNow, "w1", report(2, 2, 7)));
  EXPECT_EQ(registry.sights(kNow, {}).at(0).life, 7u);
}

TEST(WorkerRegistry, who_is_left_alone_gets_nothing_new_and_counts_as_there) {
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

}  // namespace
}  // namespace bellwether::node
