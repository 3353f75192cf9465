// Shares that run are spread onto workers that come; and with all that, whatever happens meanwhile.
#include <gmock/gmock.h>

#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

class Spreading : public ::testing::Test {
 protected:
  static WorkflowSpec spec() {
    WorkflowSpec one = load_spec("browse", kMinute);
    one.rebalance = true;
    return one;
  }
  Spreading() : world_({spec()}, 3) {
    world_.add("w1", 4);
    EXPECT_TRUE(world_.begins());
    pass(Duration::seconds(5));
  }
  void pass(Duration span) {
    for (Instant end = world_.now() + span; world_.now() < end;) world_.step(kStep);
  }
  uint32_t parts_on(const std::string& worker) const {
    uint32_t sum = 0;
    for (const ShareSheet& share : world_.sheet().shares) {
      if (share.state == ShareState::kRunning && share.worker == worker) sum += share.parts.count;
    }
    return sum;
  }
  JobWorld world_;
};

TEST_F(Spreading, HalfOfThePartsGoToAWorkerThatCame) {
  world_.add("w2", 4);
  pass(Duration::seconds(5));
  EXPECT_EQ(parts_on("w1"), 2u);
  EXPECT_EQ(parts_on("w2"), 2u);
  EXPECT_TRUE(world_.run(kMinute * 2));
  EXPECT_THAT(world_.sheet().losses, IsEmpty());
  EXPECT_EQ(seconds_of(world_), 240u);
  EXPECT_EQ(world_.looks_without_load, 0u);
  EXPECT_EQ(world_.looks_at_double_load, 0u);
  EXPECT_THAT(kinds(world_.sheet()), Contains("share_moved"));
  EXPECT_EQ(world_.sheet().shares.size(), 3u) << "once is enough";
  EXPECT_TRUE(world_.all_cores_free());
}

TEST_F(Spreading, NeverMoreThanTheNewOneHasCores) {
  world_.add("w2", 1);
  pass(Duration::seconds(5));
  EXPECT_EQ(parts_on("w1"), 3u);
  EXPECT_EQ(parts_on("w2"), 1u);
}

TEST_F(Spreading, SeveralThatComeGetTheirPartsOneAfterTheOther) {
  world_.add("w2", 4);
  world_.add("w3", 4);
  world_.add("w4", 4);
  pass(kStep * 2);
  EXPECT_EQ(world_.sheet().shares.size(), 3u) << "one move at a time";
  pass(Duration::seconds(15));
  for (const char* name : {"w1", "w2", "w3", "w4"}) EXPECT_EQ(parts_on(name), 1u) << name;
  EXPECT_TRUE(world_.run(kMinute * 2));
  EXPECT_EQ(seconds_of(world_), 240u);
  EXPECT_EQ(world_.looks_without_load, 0u);
  EXPECT_EQ(world_.looks_at_double_load, 0u);
}

TEST_F(Spreading, AWorkerThatRefusesIsNotAskedAgainAndAgain) {
  world_.add("w2", 4);
  world_.worker("w2").refuses = true;
  pass(Duration::seconds(9));
  EXPECT_EQ(world_.sheet().shares.size(), 3u);
  EXPECT_EQ(parts_on("w1"), 4u);
  world_.worker("w2").refuses = false;
  pass(Duration::seconds(9));
  EXPECT_EQ(parts_on("w2"), 2u);
}

TEST_F(Spreading, NotOntoAWorkerThatIsUnwellOrThatOthersWaitFor) {
  world_.add("w2", 4);
  world_.worker("w2").healthy = false;
  pass(Duration::seconds(5));
  EXPECT_EQ(world_.sheet().shares.size(), 1u);
  world_.worker("w2").healthy = true;
  world_.worker("w2").sought = true;
  pass(Duration::seconds(5));
  EXPECT_EQ(world_.sheet().shares.size(), 1u);
  world_.worker("w2").sought = false;
  pass(Duration::seconds(5));
  EXPECT_EQ(parts_on("w2"), 2u);
}

TEST_F(Spreading, WhatCameToNothingIsTriedAgain) {
  bool lost = true;
  world_.hand_over_fate = [&](ShareId) { return lost ? Fate::kIsLost : Fate::kArrives; };
  world_.add("w2", 4);
  pass(Duration::seconds(6));
  lost = false;
  pass(kStep * 3);
  ASSERT_THAT(kinds(world_.sheet()), Contains("share_kept")) << "it was told too late";
  const std::size_t shares = world_.sheet().shares.size();
  pass(Duration::seconds(9));
  EXPECT_EQ(world_.sheet().shares.size(), shares);
  pass(Duration::seconds(6));
  EXPECT_EQ(parts_on("w2"), 2u);
}

TEST_F(Spreading, NotInTheLastSecondsOfAWorkflow) {
  pass(Duration::seconds(51));
  world_.add("w2", 4);
  EXPECT_TRUE(world_.run(kMinute));
  EXPECT_EQ(world_.sheet().shares.size(), 1u);
}

TEST(Job, NothingIsSpreadThatDoesNotAskForIt) {
  JobWorld world({load_spec("browse", kMinute)}, 3);
  world.add("w1", 4);
  ASSERT_TRUE(world.begins());
  world.add("w2", 4);
  EXPECT_TRUE(world.run(kMinute * 2));
  EXPECT_EQ(world.sheet().shares.size(), 1u);
}

// Whatever happens to letters, workers and owners in the middle of moves, every second is counted once or told as lost.
TEST(Job, AccountsForEverySecondWhateverHappensWhileSharesMove) {
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    Prng prng(seed);
    WorkflowSpec spec = load_spec("browse", Duration::seconds(prng.between(20, 60)));
    spec.rebalance = prng.chance(0.5);
    JobWorld world({spec}, seed);
    const auto fate = [&](ShareId) {
      return prng.chance(0.7) ? Fate::kArrives : prng.chance(0.5) ? Fate::kIsLost : Fate::kAnswerIsLost;
    };
    world.take_over_fate = world.hand_over_fate = fate;
    world.add("w0", 3);
    ASSERT_TRUE(world.begins());
    for (int i = 1; i < 4; ++i) world.add("w" + std::to_string(i), 1 + static_cast<uint32_t>(prng.below(3)));
    for (int i = 0; i < 20'000 && !world.job().over(); ++i) {
      world.step(kStep);
      if (i > 600) continue;
      const std::string name = "w" + std::to_string(prng.below(4));
      if (prng.chance(0.02)) world.worker(name).leaves = !world.worker(name).leaves;
      if (prng.chance(0.003) && world.worker(name).alive) world.die(name);
      if (prng.chance(0.006)) world.restart(name);
      if (prng.chance(0.02)) world.replace_owner();
      if (prng.chance(0.02)) world.register_stands = !world.register_stands;
    }
    world.register_stands = true;
    for (auto& [name, worker] : world.workers()) worker.leaves = false;
    ASSERT_TRUE(world.run(Duration::hours(2))) << "seed " << seed;
    EXPECT_TRUE(world.all_cores_free()) << "seed " << seed;
    const WorkflowSheet& one = world.sheet().workflows[0];
    if (one.state != WorkflowState::kCompleted) continue;
    uint64_t measured = 0;
    for (const auto& part : world.measured(0)) {
      EXPECT_EQ(part.twice, 0u) << "seed " << seed;
      measured += part.seconds;
    }
    double lost = 0;
    for (const plan::Loss& loss : world.sheet().losses)
      lost += (loss.to - loss.from).seconds_f() * loss.share * one.parts;
    const double planned = spec.length.seconds_f() * one.parts;
    EXPECT_NEAR(static_cast<double>(measured) + lost, planned, 2.0 * one.parts * (1 + one.retries)) << "seed " << seed;
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace bellwether::dispatch
