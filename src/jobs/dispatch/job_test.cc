#include "jobs/dispatch/job.h"

#include <gmock/gmock.h>

#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A workflow of a minute, and a worker of two cores.
struct JobOfAMinute : testing::Test {
  JobOfAMinute() { world.add("w1", 2); }
  JobWorld world{{load_spec("browse", kMinute)}, 1};
};

TEST_F(JobOfAMinute, SpreadsAWorkflowOverAllCores) {
  world.add("w2", 2);
  ASSERT_TRUE(world.begins());
  ASSERT_EQ(world.sheet().shares.size(), 2u);
  EXPECT_EQ(world.sheet().shares[0].parts.count, 2u);
  EXPECT_EQ(world.sheet().shares[1].parts.count, 2u);
  EXPECT_NE(world.sheet().shares[0].worker, world.sheet().shares[1].worker);
  expect_end(world, kMinute * 2);
  EXPECT_NEAR(world.sheet().elapsed.seconds_f(), 60, 0.2);
  EXPECT_EQ(seconds_of(world, 0), 240u);
  EXPECT_TRUE(world.sheet().losses.empty());
  EXPECT_TRUE(world.retired());
}

TEST_F(JobOfAMinute, NothingIsSentBeforeAQuorumKnowsOfIt) {
  world.register_stands = false;
  world.begin();
  for (int i = 0; i < 50; ++i) world.step(Duration::millis(100));
  EXPECT_TRUE(world.worker("w1").shares.empty());
  EXPECT_EQ(world.sheet().state, JobState::kDispatching);
  world.register_stands = true;
  EXPECT_TRUE(world.run_until_begun());
}

TEST(Job, AllSharesBeginAtOneInstant) {
  JobWorld world({load_spec("browse", kMinute), load_spec("pay", kMinute)}, 1);
  for (int i = 0; i < 6; ++i) world.add("w" + std::to_string(i), 3);
  ASSERT_TRUE(world.begins());
  std::set<Instant> clocks;
  for (const auto& [name, worker] : world.workers()) {
    for (const auto& [id, share] : worker.shares) clocks.insert(share.clock);
  }
  EXPECT_EQ(clocks.size(), 1u);
}

TEST(Job, WaitsForCoresAndThenForNobody) {
  JobWorld world({load_spec("browse", kMinute)}, 1);
  world.begin();
  for (int i = 0; i < 300; ++i) world.step(Duration::millis(100));
  EXPECT_EQ(world.sheet().state, JobState::kQueued);
  world.add("w1", 1);
  EXPECT_TRUE(world.run_until_begun());
}

TEST(Job, AWorkerThatWasOutOfReachForAWhileIsAskedAgain) {
  JobWorld world({load_spec("browse", kMinute)}, 1);
  world.add("w1", 1);
  world.worker("w1").refuses = true;
  world.begin();
  for (int i = 0; i < 50; ++i) world.step(Duration::millis(100));
  ASSERT_NE(world.sheet().state, JobState::kRunning);
  world.worker("w1").refuses = false;
  for (int i = 0; i < 150; ++i) world.step(Duration::millis(100));
  EXPECT_EQ(world.sheet().state, JobState::kRunning);
}

TEST(Job, FailsWhenNoWorkerEverComes) {
  JobWorld world({load_spec("browse", kMinute)}, 1);
  world.begin();
  expect_end(world, kMinute * 2, JobState::kFailed);
  EXPECT_THAT(world.sheet().why, HasSubstr("no worker"));
}

TEST(Job, WaitsForAWorkerThatIsHeldUpByAShareThatStandsStill) {
  JobWorld world({load_spec("browse", Duration::seconds(10))}, 1);
  world.add("w1", 2);
  world.worker("w1").held = true;
  world.begin();
  EXPECT_FALSE(world.run(kMinute * 2));
  EXPECT_EQ(world.sheet().state, JobState::kQueued);
  world.worker("w1").held = false;
  expect_end(world, kMinute);
}

TEST(Job, ADependentBeginsWhenWhatItNeedsHasCompleted) {
  JobWorld world({load_spec("auth", Duration::seconds(10)), load_spec("browse", Duration::seconds(10), {0})}, 1);
  world.add("w1", 2);
  ASSERT_TRUE(world.begins());
  EXPECT_EQ(world.sheet().workflows[1].state, WorkflowState::kPending);
  expect_end(world, kMinute);
  EXPECT_GE(world.sheet().workflows[1].base_second, 10u);
  EXPECT_LE(world.sheet().workflows[1].base_second, 12u);
}

TEST(Job, WhatDependsOnAFailedWorkflowIsSkipped) {
  JobWorld world({load_spec("auth", Duration::seconds(10)), load_spec("browse", Duration::seconds(10), {0})}, 1);
  world.add("w1", 2);
  world.worker("w1").breaks = true;
  world.begin();
  EXPECT_TRUE(world.run(kMinute));
  EXPECT_EQ(world.sheet().workflows[0].state, WorkflowState::kFailed);
  EXPECT_EQ(world.sheet().workflows[1].state, WorkflowState::kSkipped);
  EXPECT_THAT(world.sheet().workflows[1].why, HasSubstr("auth"));
  EXPECT_EQ(world.sheet().state, JobState::kFailed);
}

TEST(Job, ADeadWorkersPartsGoToTheOthers) {
  JobWorld world({load_spec("browse", kMinute)}, 1);
  for (const char* name : {"w1", "w2", "w3", "w4"}) world.add(name, 2);
  ASSERT_TRUE(world.begins());
  for (int i = 0; i < 200; ++i) world.step(Duration::millis(100));
  world.die("w2");
  expect_end(world, kMinute * 2);
  ASSERT_FALSE(world.sheet().losses.empty());
  double lost = 0;
  for (const plan::Loss& loss : world.sheet().losses) {
    EXPECT_LE((loss.to - loss.from).seconds_f(), 2.0);
    EXPECT_THAT(loss.cause, HasSubstr("w2"));
    lost += loss.share;
  }
  EXPECT_DOUBLE_EQ(lost, 0.25);
  EXPECT_GE(seconds_of(world, 0), 480u - 2 * 2);
  for (const auto& part : world.measured(0)) EXPECT_EQ(part.twice, 0u);
  EXPECT_THAT(kinds(world.sheet()), Contains("worker_lost"));
  EXPECT_THAT(kinds(world.sheet()), Contains("share_moved"));
  EXPECT_NEAR(world.sheet().elapsed.seconds_f(), 60, 0.2);
}

TEST(Job, ALongRunOutlivesManyWorkersOneAfterTheOther) {
  JobWorld world({load_spec("browse", kMinute * 5)}, 1);
  for (int i = 0; i < 8; ++i) world.add("w" + std::to_string(i), 2);
  ASSERT_TRUE(world.begins());
  for (int i = 0; i < 7; ++i) {
    for (int step = 0; step < 300; ++step) world.step(Duration::millis(100));
    world.die("w" + std::to_string(i));
    if (i < 6) world.restart("w" + std::to_string(i));
  }
  expect_end(world, kMinute * 10);
  for (const plan::Loss& loss : world.sheet().losses) EXPECT_LE((loss.to - loss.from).seconds_f(), 2.0);
}

TEST(Job, AWorkflowThatIsCancelledAloneIsMissingFromThenOn) {
  JobWorld world({load_spec("browse", kMinute), load_spec("pay", kMinute)}, 1);
  world.add("w1", 2);
  ASSERT_TRUE(world.begins());
  for (int step = 0; step < 100; ++step) world.step(Duration::millis(100));
  world.cancel({1});
  expect_end(world, kMinute * 2, JobState::kPartial);
  ASSERT_EQ(world.sheet().losses.size(), 1u);
  EXPECT_THAT(world.sheet().losses[0].cause, HasSubstr("'pay'"));
  EXPECT_NEAR(world.sheet().losses[0].from.seconds_f(), 10, 0.5);
  EXPECT_NEAR(world.sheet().losses[0].to.seconds_f(), 60, 0.5);
  EXPECT_DOUBLE_EQ(world.sheet().losses[0].share, 1.0);
}

TEST(Job, AShareWhoseProcessDiesFailsItsWorkflowAndSaysWhatIsMissing) {
  JobWorld world({load_spec("browse", kMinute), load_spec("pay", kMinute)}, 1);
  world.add("w1", 2);
  ASSERT_TRUE(world.begins());
  for (int step = 0; step < 100; ++step) world.step(Duration::millis(100));
  world.crash(ShareId(1));
  expect_end(world, kMinute * 2, JobState::kPartial);
  EXPECT_EQ(world.sheet().losses.size(), 2u) << "its last moment, and the rest of its time";
  EXPECT_NEAR(world.sheet().elapsed.seconds_f(), 60, 0.5);
}

TEST_F(JobOfAMinute, NobodyLeftIsAFailureThatSaysSo) {
  ASSERT_TRUE(world.begins());
  for (int i = 0; i < 100; ++i) world.step(Duration::millis(100));
  world.die("w1");
  expect_end(world, kMinute * 2, JobState::kFailed);
  EXPECT_THAT(world.sheet().why, HasSubstr("no worker was left"));
  ASSERT_EQ(world.sheet().losses.size(), 1u);
  EXPECT_DOUBLE_EQ(world.sheet().losses[0].share, 1.0);
  EXPECT_EQ(world.sheet().losses[0].to, kMinute);
}

TEST_F(JobOfAMinute, AWorkerThatStartsAgainIsAnotherOne) {
  ASSERT_TRUE(world.begins());
  for (int i = 0; i < 100; ++i) world.step(Duration::millis(100));
  world.restart("w1");
  expect_end(world, kMinute * 2);
  EXPECT_EQ(world.sheet().losses.size(), 1u);
  EXPECT_GE(seconds_of(world, 0), 2u * 57);
}

TEST(Job, AWorkerThatRefusesIsPassedOver) {
  JobWorld world({load_spec("browse", Duration::seconds(10))}, 1);
  for (const char* name : {"w1", "w2", "w3"}) world.add(name, 2);
  world.worker("w3").refuses = true;
  world.begin();
  expect_end(world, kMinute);
  EXPECT_EQ(seconds_of(world, 0), 40u);
  EXPECT_TRUE(world.sheet().losses.empty()) << "before the begin nothing is lost";
}

TEST(Job, WaitsWhileWorkersAreBusyHoweverOftenTheyAreAsked) {
  JobWorld world({load_spec("browse", Duration::seconds(10))}, 1);
  world.add("w1", 2);
  world.worker("w1").busy = true;
  world.begin();
  for (int i = 0; i < 300; ++i) world.step(Duration::millis(100));
  EXPECT_FALSE(is_final(world.sheet().state));
  world.worker("w1").busy = false;
  expect_end(world, kMinute);
}

TEST(Job, CancellingStopsEverythingAndWinsOverTheRest) {
  JobWorld world({load_spec("auth", kMinute), load_spec("browse", kMinute, {0})}, 1);
  world.add("w1", 2);
  ASSERT_TRUE(world.begins());
  JobEffects out;
  world.job().stop(world.now(), {JobStop::Cause::kCancelled, StopHow::kAtOnce, "ann", "enough"}, {}, out);
  EXPECT_TRUE(std::none_of(out.begin(), out.end(), [](const JobEffect& one) {
    return std::holds_alternative<job_effect::Stop>(one);
  })) << "another owner would not know why";
  EXPECT_EQ(world.sheet().state, JobState::kCancelling);
  EXPECT_EQ(world.sheet().workflows[1].state, WorkflowState::kCancelled);
  for (auto& [id, share] : world.worker("w1").shares) {
    share.phase = SharePhase::kEnded;
    share.end = ShareEnd{ShareOutcome::kStopped, {}, 0, Duration::seconds(1)};
  }
  expect_end(world, kMinute, JobState::kCancelled);
  EXPECT_EQ(world.sheet().stop->by, "ann");
}

TEST_F(JobOfAMinute, AnotherOwnerGoesOnWithWhatRuns) {
  world.add("w2", 2);
  ASSERT_TRUE(world.begins());
  for (int i = 0; i < 100; ++i) world.step(Duration::millis(100));
  const std::vector<ShareSheet> before = world.sheet().shares;
  world.replace_owner();
  expect_end(world, kMinute * 2);
  EXPECT_EQ(world.sheet().shares.size(), before.size()) << "nothing is run again";
  EXPECT_TRUE(world.sheet().losses.empty());
  EXPECT_EQ(seconds_of(world, 0), 240u);
}

TEST_F(JobOfAMinute, AnOwnerThatDiedBeforeItWroteDownTheBeginLosesNothing) {
  world.add("w2", 2);
  world.begin();
  for (int i = 0; i < 10 && world.sheet().shares.empty(); ++i) world.step(Duration::millis(10));
  world.step(Duration::millis(10));
  world.register_stands = false;
  ASSERT_TRUE(world.run_until_begun());
  world.register_stands = true;
  world.replace_owner();
  expect_end(world, kMinute * 2);
  EXPECT_EQ(seconds_of(world, 0), 240u);
  EXPECT_TRUE(world.sheet().losses.empty());
}

// Until one of them has ended, and the account of that has not been copied yet; then the owner dies.
void lose_an_account(JobWorld& world) {
  world.add("w1", 2);
  ASSERT_TRUE(world.begins());
  const auto ended = [&] {
    const auto& shares = world.sheet().shares;
    return std::any_of(shares.begin(), shares.end(),
                       [](const ShareSheet& share) { return share.state == ShareState::kEnded; });
  };
  for (int i = 0; i < 1000 && !ended(); ++i) world.step(Duration::millis(100));
  ASSERT_TRUE(ended());
  world.step(Duration::millis(100));
  world.replace_owner();
}

TEST(Job, WhatTheCopyOfTheAccountLacksOfAnEndedShareIsAskedForAgain) {
  JobWorld world({load_spec("short", Duration::seconds(5)), load_spec("long", kMinute)}, 1);
  lose_an_account(world);
  EXPECT_LT(seconds_of(world, 0), 5u);
  expect_end(world, kMinute * 2);
  EXPECT_EQ(seconds_of(world, 0), 5u);
  EXPECT_TRUE(world.sheet().losses.empty());
}

TEST(Job, WhatTheCopyOfTheAccountLacksOfADeadWorkerIsLost) {
  JobWorld world({load_spec("short", Duration::seconds(5)), load_spec("long", kMinute)}, 1);
  lose_an_account(world);
  const uint64_t counted = seconds_of(world, 0);
  world.restart("w1");
  EXPECT_TRUE(world.run(kMinute * 2));
  const auto& losses = world.sheet().losses;
  const auto loss = std::find_if(losses.begin(), losses.end(),
                                 [](const plan::Loss& one) { return one.cause.find("'short'") != std::string::npos; });
  ASSERT_NE(loss, losses.end());
  EXPECT_EQ(loss->from, Duration::seconds(static_cast<int64_t>(counted)));
  EXPECT_GE(loss->to, Duration::seconds(5));
}

// Whatever happens to workers and owners, a job ends; no second of a part is counted twice; what is not counted is
// written down as lost; and no core stays taken.
TEST(Job, EndsWhateverHappensAndAccountsForEverySecond) {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    Prng prng(seed);
    JobSpec spec;
    const std::size_t count = 1 + prng.below(4);
    for (std::size_t w = 0; w < count; ++w) {
      std::vector<uint16_t> depends;
      if (w > 0 && prng.chance(0.4)) depends.push_back(static_cast<uint16_t>(prng.below(w)));
      spec.push_back(load_spec("f" + std::to_string(w), Duration::seconds(prng.between(5, 60)), depends));
    }
    JobWorld world(spec, seed);
    const int workers = 1 + static_cast<int>(prng.below(6));
    for (int i = 0; i < workers; ++i) world.add("w" + std::to_string(i), 1 + static_cast<uint32_t>(prng.below(4)));
    world.begin();
    for (int i = 0; i < 20'000 && !world.job().over(); ++i) {
      world.step(Duration::millis(100));
      if (i > 1500) continue;
      if (prng.chance(0.002)) {
        const std::string name = "w" + std::to_string(prng.below(static_cast<uint64_t>(workers)));
        if (world.worker(name).alive) world.die(name);
      }
      if (prng.chance(0.004)) world.restart("w" + std::to_string(prng.below(static_cast<uint64_t>(workers))));
      if (prng.chance(0.005)) world.replace_owner();
      if (prng.chance(0.01)) {
        auto& worker = world.worker("w" + std::to_string(prng.below(static_cast<uint64_t>(workers))));
        worker.refuses = !worker.refuses;
      }
      if (prng.chance(0.02)) world.register_stands = !world.register_stands;
    }
    world.register_stands = true;
    ASSERT_TRUE(world.run(Duration::hours(2))) << "seed " << seed << ", job " << to_string(world.sheet().state);
    EXPECT_TRUE(world.all_cores_free()) << "seed " << seed;
    for (uint16_t w = 0; w < spec.size(); ++w) {
      const WorkflowSheet& one = world.sheet().workflows[w];
      EXPECT_TRUE(is_final(one.state)) << "seed " << seed;
      if (one.state != WorkflowState::kCompleted) continue;
      uint64_t measured = 0;
      for (const auto& part : world.measured(w)) {
        EXPECT_EQ(part.twice, 0u) << "seed " << seed << " workflow " << w;
        measured += part.seconds;
      }
      double lost = 0;
      for (const plan::Loss& loss : world.sheet().losses) {
        if (loss.cause.find("'" + spec[w].name + "'") == std::string::npos) continue;
        lost += (loss.to - loss.from).seconds_f() * loss.share * one.parts;
      }
      // A second that two shares divide between them is a whole one of neither.
      const double planned = spec[w].length.seconds_f() * one.parts;
      const double slack = 2.0 * one.parts * (1 + one.retries);
      EXPECT_NEAR(static_cast<double>(measured) + lost, planned, slack) << "seed " << seed << " workflow " << w;
    }
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace bellwether::dispatch
