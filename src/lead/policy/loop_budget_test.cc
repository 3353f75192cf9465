#include <gtest/gtest.h>

#include "lead/policy/policy.h"

namespace bellwether::lead {
namespace {

LoopPolicy held() {
  LoopPolicy loop;
  loop.name = "reconciler";
  loop.poll_interval = Duration::seconds(30);
  loop.lock_ttl = Duration::seconds(60);
  loop.renew_every = Duration::seconds(20);
  return loop;
}

constexpr Duration kStore = Duration::millis(50);

TEST(LoopBudget, a_promise_is_set_against_the_worst_case) {
  LoopPolicy loop = held();
  EXPECT_FALSE(budget_of_loop(loop, kStore).slo_holds);
  loop.takeover_slo = Duration::seconds(93);
  EXPECT_TRUE(*budget_of_loop(loop, kStore).slo_holds);
  loop.takeover_slo = Duration::seconds(92);
  const LoopBudget budget = budget_of_loop(loop, kStore);
  EXPECT_FALSE(*budget.slo_holds);
  ASSERT_TRUE(budget.suggestion);
  EXPECT_LT(budget.suggestion->lease, loop.lock_ttl);
}

TEST(LoopBudget, what_is_suggested_keeps_every_promise_of_the_loop) {
  LoopPolicy loop = held();
  loop.takeover_slo = Duration::seconds(80);
  loop.stale_window = Duration::seconds(60);
  const LoopBudget budget = budget_of_loop(loop, kStore);
  ASSERT_TRUE(budget.suggestion);
  loop.poll_interval = budget.suggestion->poll;
  loop.lock_ttl = budget.suggestion->lease;
  loop.renew_every = budget.suggestion->renew_every;
  EXPECT_TRUE(budget_of_loop(loop, kStore).holds());
}

TEST(LoopBudget, a_held_key_is_extended_between_ticks_as_the_loop_does_it) {
  LoopPolicy loop = held();
  loop.renew_every = Duration::zero();
  const LoopBudget budget = budget_of_loop(loop, kStore);
  EXPECT_EQ(budget.input.renew_every, timing_of(loop, Duration::zero())->extend_within);
  EXPECT_LT(budget.input.renew_every, loop.poll_interval) << "half of its renew deadline is shorter";
  loop.lock_ttl = Duration::minutes(10);
  EXPECT_EQ(budget_of_loop(loop, kStore).input.renew_every, loop.poll_interval);
  loop.release_mode = ReleaseMode::kExplicit;
  EXPECT_EQ(budget_of_loop(loop, kStore).input.renew_every, Duration::zero()) << "nothing is kept between ticks";
}

TEST(LoopBudget, every_loop_that_is_stopped_in_good_order_gives_its_key_back) {
  LoopPolicy loop = held();
  EXPECT_EQ(budget_of_loop(loop, kStore).budget.release_worst.total, Duration::millis(30'100));
  EXPECT_GT(budget_of_loop(loop, kStore).budget.crash_worst.total, Duration::seconds(90));
  loop.release_mode = ReleaseMode::kExplicit;
  EXPECT_EQ(budget_of_loop(loop, kStore).budget.release_worst.total, Duration::millis(30'100));
}

TEST(LoopBudget, the_mechanism_comes_from_the_store_of_the_loop_or_from_the_one_in_its_place) {
  std::vector<LoopPolicy> loops(2, held());
  loops[0].store = "flock:/run/locks";
  use_store("", loops);
  EXPECT_EQ(budget_of_loop(loops[0], kStore).input.mechanism.name, "host lock");
  EXPECT_EQ(loops[1].store, "");
  use_store("etcd://a", loops);
  for (const LoopPolicy& loop : loops) EXPECT_EQ(budget_of_loop(loop, kStore).input.mechanism.name, "etcd");
}

}  // namespace
}  // namespace bellwether::lead
