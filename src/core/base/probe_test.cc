#include "core/base/probe.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>

namespace bellwether {
namespace {

void pass_here() { BW_PROBE("test.here"); }
void pass_here_too() { BW_PROBE("test.here"); }
void never_called() { BW_PROBE("test.never"); }

TEST(Probe, counts_how_often_its_code_was_reached) {
  const uint64_t before = Probe::hits_of("test.here");
  pass_here();
  pass_here();
  pass_here_too();
  EXPECT_EQ(Probe::hits_of("test.here") - before, 3U);
  EXPECT_EQ(Probe::hits_of("test.never"), 0U);
  if (before == UINT64_MAX) never_called();
}

TEST(Probe, is_listed_with_its_place_once_it_was_reached) {
  pass_here();
  const auto all = Probe::all();
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Probe* p) { return p->name() == std::string_view("test.here"); });
  ASSERT_NE(found, all.end());
  EXPECT_TRUE(std::string_view((*found)->file()).ends_with("probe_test.cc"));
  EXPECT_GT((*found)->line(), 0);
  EXPECT_GT((*found)->hits(), 0U);
  for (const Probe* probe : all) EXPECT_NE(probe->name(), std::string_view("test.never"));
}

TEST(Probe, may_be_reached_by_several_threads) {
  const uint64_t before = Probe::hits_of("test.here");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 1000; ++k) pass_here();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Probe::hits_of("test.here") - before, 4000U);
}

TEST(FaultPlan, only_points_that_were_set_fire) {
  FaultPlan plan(1);
  plan.set("always", 1);
  plan.set("never", 0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(plan.fires("always"));
    EXPECT_FALSE(plan.fires("never"));
    EXPECT_FALSE(plan.fires("unknown"));
  }
  EXPECT_EQ(plan.fired(), 100U);
  plan.set("always", 0);
  EXPECT_FALSE(plan.fires("always"));
}

TEST(FaultPlan, fires_as_often_as_set_and_the_same_way_for_one_seed) {
  FaultPlan a(2);
  FaultPlan b(2);
  for (FaultPlan* plan : {&a, &b}) plan->set("x", 0.25);
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(a.fires("x"), b.fires("x"));
  EXPECT_NEAR(static_cast<double>(a.fired()), 2500, 260);  // six standard deviations
}

TEST(FaultPlan, a_point_that_is_not_set_draws_nothing) {
  FaultPlan a(3);
  FaultPlan b(3);
  for (FaultPlan* plan : {&a, &b}) plan->set("x", 0.5);
  for (int i = 0; i < 100; ++i) {
    a.fires("unknown");
    ASSERT_EQ(a.fires("x"), b.fires("x"));
  }
}

}  // namespace
}  // namespace bellwether
