// A worker and three managers in a simulated world: every measured second counts once, and the load goes on in all
// cases.
#include <gmock/gmock.h>
#include <numeric>

#include "jobs/worker/worker_world_testing.h"

namespace bellwether::node {
namespace {

TEST(WorkerWorld, all_is_counted_once_whatever_becomes_of_the_owners) {
  std::vector<uint64_t> seeds(40);
  std::iota(seeds.begin(), seeds.end(), 1);
  seeds.push_back(219);  // a former owner takes the end of an assignment
  for (const uint64_t seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WorkerWorld world(seed);
    for (int i = 0; i < 40; ++i) {
      world.run_for(world.prng().between(Duration::millis(50), Duration::seconds(2)));
      world.inject_fault();
    }
    world.make_whole();
    ASSERT_TRUE(world.run_until_over(Duration::minutes(2)));
    world.expect_whole();
    for (const auto& [assignment, end] : world.stage.safe.ends) {
      EXPECT_EQ(end.outcome, dispatch::AssignmentOutcome::kCompleted);
      EXPECT_EQ(end.last_number, world.stage.length);
    }
  }
}

TEST(WorkerWorld, without_any_manager_for_a_minute_the_load_does_not_change_and_nothing_is_lost) {
  WorkerWorld world(1);
  world.stage.length = 90;
  world.stage.isolation_limit = Duration::seconds(75);  // it takes the managers some seconds to come back
  world.run_for(Duration::seconds(10));
  ASSERT_EQ(world.stage.begun.size(), 2u);
  const uint64_t before = world.stage.seconds[1];
  world.lose_power_of_managers();
  world.run_for(Duration::seconds(55));
  EXPECT_EQ(world.stage.seconds[1], before + 55);
  EXPECT_EQ(world.stage.seconds[2], world.stage.seconds[1]);
  world.make_whole();
  ASSERT_TRUE(world.run_until_over(Duration::minutes(2)));
  world.expect_whole();
  EXPECT_EQ(world.stage.safe.ends[1].outcome, dispatch::AssignmentOutcome::kCompleted);
  EXPECT_EQ(world.stage.safe.ends[1].last_number, 90u);
}

TEST(WorkerWorld, without_a_manager_and_without_a_witness_the_load_stops_with_its_permit) {
  WorkerWorld world(1);
  world.stage.length = 60;
  world.stage.has_witness = false;
  world.run_for(Duration::seconds(10));
  ASSERT_EQ(world.stage.begun.size(), 2u);
  const uint64_t before = world.stage.seconds[1];
  EXPECT_GE(before, 8u) << "the owner renews it";
  world.lose_power_of_managers();
  world.run_for(Duration::seconds(10));
  EXPECT_LE(world.stage.seconds[1], before + 4);
  EXPECT_GE(world.stage.seconds[1], before + 1);
  world.make_whole();
  ASSERT_TRUE(world.run_until_over(Duration::minutes(1)));
  world.expect_whole();
  EXPECT_EQ(world.stage.safe.ends[1].outcome, dispatch::AssignmentOutcome::kIsolated);
  EXPECT_THAT(world.stage.safe.ends[1].detail, testing::HasSubstr("no permit"));
}

TEST(WorkerWorld, a_worker_that_is_cut_off_for_longer_stops_its_load_and_keeps_what_it_measured) {
  WorkerWorld world(2);
  world.stage.length = 300;
  world.stage.isolation_limit = Duration::seconds(60);
  world.run_for(Duration::seconds(10));
  const uint64_t before = world.stage.seconds[1];
  world.lose_power_of_managers();
  world.run_for(Duration::minutes(3));
  EXPECT_LE(world.stage.seconds[1], before + 61);
  EXPECT_GE(world.stage.seconds[1], before + 58);
  world.make_whole();
  ASSERT_TRUE(world.run_until_over(Duration::minutes(1)));
  world.expect_whole();
  EXPECT_EQ(world.stage.safe.ends[1].outcome, dispatch::AssignmentOutcome::kIsolated);
  EXPECT_EQ(world.stage.safe.ends[2].outcome, dispatch::AssignmentOutcome::kIsolated);
}

TEST(WorkerWorld, long_times_without_an_owner_cost_no_more_memory_than_is_allowed_and_no_count) {
  WorkerWorld world(3);
  world.stage.length = 900;
  world.stage.isolation_limit = Duration::hours(24);
  world.stage.stream_bytes_most = 10'000;
  world.run_for(Duration::seconds(5));
  world.lose_power_of_managers();
  world.run_for(Duration::minutes(20));
  world.make_whole();
  ASSERT_TRUE(world.run_until_over(Duration::minutes(2)));
  world.expect_whole();
  EXPECT_EQ(world.stage.safe.ends[1].last_number, 900u);
}

TEST(WorkerWorld, a_manager_that_is_nearly_full_gets_batches_and_nothing_that_it_can_do_without) {
  WorkerWorld world(4);
  world.stage.length = 90;
  world.run_for(Duration::seconds(10));
  ASSERT_NE(world.stage.at_work[0], nullptr);
  FakeManager& manager = *world.stage.at_work[0];
  ASSERT_FALSE(manager.lives.empty());
  manager.pressure = resilience::Backpressure::kReject;
  world.run_for(Duration::seconds(3));  // the next answers show it
  const uint64_t windows = manager.windows;
  const std::size_t lives = manager.lives.size();
  const std::size_t reports = manager.reports.size();
  world.run_for(Duration::seconds(30));
  EXPECT_LE(manager.windows - windows, 22u) << "two assignments, three seconds at a time";
  EXPECT_GE(manager.windows - windows, 18u) << "what was measured is never dropped";
  EXPECT_EQ(manager.lives.size(), lives);
  EXPECT_GE(manager.reports.size() - reports, 20u) << "nor is what says that a worker is there";

  manager.pressure = resilience::Backpressure::kBatch;
  world.run_for(Duration::seconds(13));
  EXPECT_LE(manager.windows - windows, 32u);
  EXPECT_GT(manager.lives.size(), lives) << "one message for all assignments";

  manager.pressure = resilience::Backpressure::kNone;
  world.run_for(Duration::seconds(4));
  const uint64_t relieved = manager.windows;
  world.run_for(Duration::seconds(10));
  EXPECT_GE(manager.windows - relieved, 18u);
  manager.pressure = resilience::Backpressure::kReject;
  ASSERT_TRUE(world.run_until_over(Duration::minutes(1))) << "ends are told whatever waits";
  world.expect_whole();
}

TEST(WorkerWorld, a_new_owner_with_room_gets_all_at_once) {
  WorkerWorld world(4);
  world.stage.length = 60;
  world.run_for(Duration::seconds(5));
  ASSERT_NE(world.stage.at_work[0], nullptr);
  ASSERT_NE(world.stage.at_work[1], nullptr);
  world.stage.at_work[0]->pressure = resilience::Backpressure::kReject;
  world.run_for(Duration::seconds(5));
  ++world.stage.fence;
  world.stage.owner = 1;
  world.run_for(Duration::seconds(2));
  const uint64_t before = world.stage.at_work[1]->windows;
  EXPECT_GT(before, 0u);
  world.run_for(Duration::seconds(10));
  EXPECT_GE(world.stage.at_work[1]->windows - before, 18u) << "second by second";
  ASSERT_TRUE(world.run_until_over(Duration::minutes(2)));
  world.expect_whole();
}

TEST(WorkerWorld, the_same_seed_gives_the_same_ingest) {
  const auto live = [](uint64_t seed) {
    WorkerWorld world(seed);
    world.run_until_over(Duration::minutes(2));
    return ingest::encode_window(world.stage.safe.sum);
  };
  EXPECT_EQ(live(5), live(5));
  EXPECT_NE(live(5), live(6));
}

}  // namespace
}  // namespace bellwether::node
