// What is left of an owner that died between two things that it had to do.
#include <algorithm>

#include "dispatch/job.h"
#include "dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

constexpr Duration kMinute = Duration::seconds(60);

TEST(JobLastOwner, AStopIsNotSentBeforeAQuorumKnowsOfIt) {
  JobWorld world({load_spec("browse", kMinute)}, 1);
  world.add("w1", 2);
  world.begin();
  ASSERT_TRUE(world.run_until_begun());
  world.step(Duration::seconds(5));
  const auto running = [&] { return world.worker("w1").shares.begin()->second.phase == SharePhase::kRunning; };
  world.register_stands = false;
  world.cancel({});
  for (int i = 0; i < 20; ++i) world.step(Duration::millis(100));
  EXPECT_EQ(world.sheet().state, JobState::kCancelling);
  EXPECT_TRUE(running());
  world.register_stands = true;
  world.step(Duration::millis(100));
  EXPECT_FALSE(running());
  EXPECT_TRUE(world.run(kMinute));
  EXPECT_EQ(world.sheet().state, JobState::kCancelled);
}

TEST(JobLastOwner, ACancellationThatDiedWithItsOwnerCostsNothing) {
  JobWorld world({load_spec("browse", kMinute), load_spec("pay", kMinute)}, 1);
  world.add("w1", 2);
  world.add("w2", 2);
  world.begin();
  ASSERT_TRUE(world.run_until_begun());
  for (int i = 0; i < 50; ++i) world.step(Duration::millis(100));
  world.register_stands = false;
  world.cancel({});
  world.step(Duration::millis(100));
  world.register_stands = true;
  world.replace_owner();
  EXPECT_TRUE(world.run(kMinute * 2));
  EXPECT_EQ(world.sheet().state, JobState::kCompleted);
  EXPECT_TRUE(world.sheet().losses.empty());
  for (uint16_t workflow = 0; workflow < 2; ++workflow) {
    for (const auto& part : world.measured(workflow)) EXPECT_EQ(part.seconds, 60u);
  }
}

// The register has the end of a share and not yet that all of it is counted, which the account's copy has.
TEST(JobLastOwner, AShareThatHadAllButEndedWithItsOwnerIsNotAskedForAgain) {
  JobSheet sheet;
  sheet.id = "job";
  sheet.state = JobState::kRunning;
  sheet.started = WallTime{1'000'000'000};
  sheet.workflows.resize(1);
  sheet.workflows[0] = {.state = WorkflowState::kRunning, .why = {}, .parts = 1, .base_second = 0, .begun = true};
  sheet.last_share = 1;
  ShareSheet& share = sheet.shares.emplace_back();
  share.id = ShareId(1);
  share.worker = "w1";
  share.life = 1;
  share.state = ShareState::kRunning;
  share.streams = true;
  share.end = ShareEnd{ShareOutcome::kCompleted, {}, 10, Duration::seconds(10)};
  Job job({load_spec("browse", Duration::seconds(10))}, JobRules(), sheet, Prng(1));
  JobEffects out;
  job.adopt(Instant::from_ns(20'000'000'000), Duration::seconds(15), {{ShareId(1), 10}}, out);
  EXPECT_TRUE(job.workers_to_ask().empty());
  EXPECT_EQ(job.sheet().shares[0].state, ShareState::kEnded);
  EXPECT_TRUE(std::any_of(out.begin(), out.end(),
                          [](const JobEffect& one) { return std::holds_alternative<job_effect::Conclude>(one); }));
  EXPECT_TRUE(job.sheet().losses.empty());
}

}  // namespace
}  // namespace bellwether::dispatch
