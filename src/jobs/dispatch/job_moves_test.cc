// Shares that run are handed over: from a worker that leaves, onto one that came, and with every letter lost and every
// worker and owner dead in the middle of it.
#include <gmock/gmock.h>

#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Three workers of two cores each, of which one has nothing to do, and a minute of load on the other two.
class Moves : public ::testing::Test {
 protected:
  Moves() : world_({load_spec("browse", kMinute)}, 7) {
    world_.add("w1", 2);
    world_.add("w2", 2);
    EXPECT_TRUE(world_.begins());
    world_.add("w3", 2);
    pass(Duration::seconds(10));
  }
  void pass(Duration span) {
    for (Instant end = world_.now() + span; world_.now() < end;) world_.step(kStep);
  }
  // Until this holds, for a few seconds at most.
  template <class Holds>
  void pass_until(Holds holds) {
    for (int i = 0; i < 100 && !holds(); ++i) world_.step(kStep);
    ASSERT_TRUE(holds());
  }
  void leave(const std::string& name) { world_.worker(name).leaves = true; }
  const ShareSheet& of(const std::string& worker) const {
    const ShareSheet* found = nullptr;
    for (const ShareSheet& share : world_.sheet().shares) {
      if (share.worker == worker) found = &share;
    }
    EXPECT_NE(found, nullptr);
    return *found;
  }
  bool has(const std::string& worker) const {
    return std::any_of(world_.sheet().shares.begin(), world_.sheet().shares.end(),
                       [&](const ShareSheet& share) { return share.worker == worker; });
  }
  bool settled() const { return of("w2").until != 0; }
  void leave_and_settle() {
    leave("w2");
    pass_until([&] { return settled(); });
  }
  void finish() {
    expect_end(world_, kMinute * 2);
    EXPECT_TRUE(world_.all_cores_free());
    for (const auto& part : world_.measured(0)) EXPECT_EQ(part.twice, 0u);
  }
  // Nothing is missing, and nothing ran twice.
  void finish_whole() {
    finish();
    EXPECT_THAT(world_.sheet().losses, IsEmpty());
    EXPECT_EQ(seconds_of(world_), 240u);
    EXPECT_EQ(world_.looks_without_load, 0u);
    EXPECT_EQ(world_.looks_at_double_load, 0u);
  }

  JobWorld world_;
};

TEST_F(Moves, AWorkerThatLeavesHandsOverWithoutAGap) {
  leave("w2");
  pass(Duration::seconds(4));
  EXPECT_TRUE(of("w2").handed_over);
  EXPECT_EQ(of("w3").follows, of("w2").id);
  EXPECT_EQ(of("w3").from, of("w2").until);
  EXPECT_EQ(of("w2").state, ShareState::kEnded);
  finish_whole();
  EXPECT_THAT(kinds(world_.sheet()), Contains("share_moved"));
  EXPECT_THAT(kinds(world_.sheet()), Contains("worker_left"));
  EXPECT_EQ(world_.sheet().workflows[0].retries, 0u);
}

TEST_F(Moves, WhereNobodyHasACoreFreeItIsSqueezedInWithoutAGap) {
  world_.die("w3");
  world_.step(kStep);
  leave("w2");
  pass(Duration::seconds(4));
  EXPECT_TRUE(of("w2").handed_over);
  EXPECT_TRUE(of("w1").squeeze);
  finish_whole();
}

TEST_F(Moves, WhoLeavesAloneIsToldThatNobodyHasRoom) {
  world_.die("w3");
  world_.die("w1");
  world_.step(kStep);
  leave("w2");
  world_.step(kStep);
  world_.step(kStep);
  ASSERT_TRUE(world_.worker("w2").shares.begin()->second.end.has_value()) << "it was stopped at once";
  EXPECT_THAT(kinds(world_.sheet()), Contains("worker_left"));
}

TEST_F(Moves, NobodyIsToldBeforeAQuorumKnowsWhen) {
  world_.register_stands = false;
  leave("w2");
  pass(Duration::seconds(3));
  EXPECT_TRUE(world_.worker("w3").shares.empty());
  world_.register_stands = true;
  pass_until([&] { return has("w3") && of("w3").state == ShareState::kReady; });
  world_.register_stands = false;
  pass_until([&] { return settled(); });
  world_.step(kStep);
  EXPECT_EQ(world_.worker("w3").shares.begin()->second.phase, SharePhase::kReady);
  world_.register_stands = true;
  pass(Duration::seconds(5));
  finish_whole();
}

TEST_F(Moves, WhenWhoIsToTakeOverRefusesSomebodyElseDoes) {
  world_.add("w4", 2);
  world_.worker("w3").refuses = world_.worker("w4").refuses = true;
  world_.worker("w1").refuses = true;
  leave("w2");
  pass(Duration::seconds(1));
  EXPECT_THAT(kinds(world_.sheet()), Contains("share_kept"));
  finish();
}

TEST_F(Moves, WhenWhoIsToTakeOverDiesBeforeItIsSettledTheShareGoesOn) {
  world_.register_stands = false;
  leave("w2");
  pass_until([&] { return has("w3"); });
  world_.register_stands = true;
  world_.die("w3");
  pass(Duration::seconds(5));
  EXPECT_TRUE(of("w2").handed_over) << "to another one";
  EXPECT_EQ(of("w3").state, ShareState::kGone);
  finish_whole();
}

TEST_F(Moves, WhenNotAllSayInTimeThatTheyTakeOverTheShareGoesOn) {
  int asked = 0;
  world_.take_over_fate = [&](ShareId) { return ++asked, Fate::kIsLost; };
  leave("w2");
  pass_until([&] { return asked > 0; });
  world_.worker("w2").leaves = false;  // once is enough
  pass(Duration::seconds(4));
  EXPECT_EQ(of("w2").until, 0u);
  EXPECT_EQ(of("w2").state, ShareState::kRunning);
  EXPECT_EQ(of("w3").state, ShareState::kGone);
  finish_whole();
  EXPECT_THAT(kinds(world_.sheet()), Contains("share_kept"));
  EXPECT_THAT(kinds(world_.sheet()), Not(Contains("extra_load")));
}

TEST_F(Moves, ALostAnswerOfWhoTakesOverIsAskedForAgain) {
  int asked = 0;
  world_.take_over_fate = [&](ShareId) { return ++asked < 4 ? Fate::kAnswerIsLost : Fate::kArrives; };
  leave("w2");
  pass(Duration::seconds(4));
  EXPECT_TRUE(of("w2").handed_over);
  finish_whole();
}

TEST_F(Moves, ALostAnswerOfWhoHandsOverIsAskedForAgainAndNothingIsCountedMeanwhile) {
  bool lost = true;
  world_.hand_over_fate = [&](ShareId) { return lost ? Fate::kAnswerIsLost : Fate::kArrives; };
  leave_and_settle();
  const uint64_t until = of("w2").until;
  pass(Duration::seconds(2));
  EXPECT_FALSE(of("w2").handed_over && world_.measured(0)[of("w2").parts.first].by_second.contains(until + 5));
  lost = false;
  finish_whole();
}

// Iterations that ran at its second are finished by the old one, and measured in seconds after it.
TEST_F(Moves, WhatAShareTellsAfterItHasHandedOverCounts) {
  leave_and_settle();
  const ShareSheet before = of("w2");
  using Hearing = Job::Hearing;
  EXPECT_EQ(world_.job().hearing(before.id, before.until - 1), Hearing::kCounts);
  EXPECT_EQ(world_.job().hearing(before.id, before.until), Hearing::kWaits);
  EXPECT_EQ(world_.job().hearing(of("w3").id, before.until), Hearing::kWaits);
  pass_until([&] { return of("w2").handed_over; });
  EXPECT_EQ(world_.job().hearing(before.id, before.until), Hearing::kCounts);
  EXPECT_EQ(world_.job().hearing(of("w3").id, before.until), Hearing::kCounts);
}

TEST_F(Moves, WhatIsToldByOneThatWasToFollowAndDoesNotIsExtra) {
  bool lost = true;
  world_.hand_over_fate = [&](ShareId) { return lost ? Fate::kIsLost : Fate::kArrives; };
  leave_and_settle();
  const ShareId heir = of("w3").id;
  const uint64_t until = of("w2").until;
  world_.worker("w2").leaves = false;
  pass(Duration::seconds(4));
  EXPECT_EQ(world_.job().hearing(heir, until), Job::Hearing::kWaits);
  lost = false;
  pass(kStep * 3);
  EXPECT_EQ(world_.job().hearing(heir, until), Job::Hearing::kExcess);
}

// A second between 1.5 and 2.5 s from when all are ready: time enough for every letter.
TEST_F(Moves, TheSecondIsFarEnoughAheadForEveryLetter) {
  const Instant zero = *world_.job().zero();
  leave_and_settle();
  const Duration ahead = zero + Duration::seconds(static_cast<int64_t>(of("w2").until)) - world_.now();
  EXPECT_GE(ahead, Duration::millis(1400));
  EXPECT_LE(ahead, Duration::millis(2500));
}

TEST_F(Moves, OnesThatDoNotSaySoInTimeAreCalledOffBeforeTheSecondAndNotAfter) {
  world_.take_over_fate = [](ShareId) { return Fate::kIsLost; };
  leave_and_settle();
  const Instant at = *world_.job().zero() + Duration::seconds(static_cast<int64_t>(of("w2").until));
  world_.worker("w2").leaves = false;
  pass_until([&] { return !settled(); });
  EXPECT_LT(world_.now(), at) << "nobody may have begun by then";
  EXPECT_GE(world_.now() + Duration::millis(400), at) << "and they had all the time there was";
}

TEST_F(Moves, WhoCannotBeEmptiedIsToldOnce) {
  for (const char* name : {"w1", "w2", "w3"}) leave(name);
  const auto stops = [&] {
    JobEffects out;
    world_.job().pool(world_.now(), pool_of(world_.workers()), out);
    return std::count_if(out.begin(), out.end(),
                         [](const JobEffect& one) { return std::holds_alternative<job_effect::Stop>(one); });
  };
  EXPECT_EQ(stops(), 2) << "of each worker's share";
  EXPECT_EQ(stops(), 0);
}

TEST_F(Moves, WhoIsToldTooLateToHandOverGoesOnAndTheExtraLoadIsNotCounted) {
  bool lost = true;
  world_.hand_over_fate = [&](ShareId) { return lost ? Fate::kIsLost : Fate::kArrives; };
  leave_and_settle();
  const ShareSheet before = of("w2");
  world_.worker("w2").leaves = false;
  pass(Duration::seconds(5));
  EXPECT_GT(world_.looks_at_double_load, 0u);
  EXPECT_FALSE(world_.measured(0)[before.parts.first].by_second.contains(before.until))
      << "it is not certain yet whose";
  lost = false;
  finish();
  EXPECT_THAT(world_.sheet().losses, IsEmpty());
  EXPECT_EQ(seconds_of(world_), 240u);
  EXPECT_EQ(world_.looks_without_load, 0u) << "double rather than none";
  EXPECT_THAT(kinds(world_.sheet()), Contains("extra_load"));
}

TEST_F(Moves, WhoDiesBeforeItHasSaidThatItHandsOverIsFollowedFromThenOn) {
  world_.hand_over_fate = [](ShareId) { return Fate::kIsLost; };
  leave_and_settle();
  pass(Duration::millis(300));
  world_.die("w2");
  finish();
  ASSERT_FALSE(world_.sheet().losses.empty());
  for (const plan::Loss& loss : world_.sheet().losses) {
    EXPECT_LE((loss.to - loss.from).seconds_f(), 4.0);
    EXPECT_THAT(loss.cause, HasSubstr("w2"));
  }
  EXPECT_EQ(world_.looks_at_double_load, 0u);
}

TEST_F(Moves, WhoDiesAfterItHasHandedOverLosesWhatItHadLeft) {
  leave("w2");
  pass_until([&] { return of("w2").handed_over; });
  world_.die("w2");
  finish();
  ASSERT_EQ(world_.sheet().losses.size(), 1u);
  EXPECT_LE((world_.sheet().losses[0].to - world_.sheet().losses[0].from).seconds_f(), 4.0);
  EXPECT_EQ(world_.sheet().workflows[0].retries, 0u) << "others go on with it already";
}

TEST_F(Moves, WhoDiesAfterItHasTakenOverIsFollowedByOthersAgain) {
  leave("w2");
  pass_until([&] { return of("w2").handed_over; });
  world_.die("w3");
  finish();
  ASSERT_FALSE(world_.sheet().losses.empty());
  EXPECT_THAT(world_.sheet().losses[0].cause, HasSubstr("w3"));
  EXPECT_NEAR(static_cast<double>(seconds_of(world_)), 240, 8);
}

TEST_F(Moves, AnotherOwnerGoesOnWhereverTheLastOneWas) {
  // A look at the owner's death each step of the way.
  for (int at = 0; at < 40; ++at) {
    JobWorld world({load_spec("browse", kMinute)}, 7);
    world.add("w1", 2);
    world.add("w2", 2);
    ASSERT_TRUE(world.begins());
    world.add("w3", 2);
    for (int i = 0; i < 100; ++i) world.step(kStep);
    world.worker("w2").leaves = true;
    for (int i = 0; i < at; ++i) world.step(kStep);
    world.replace_owner();
    EXPECT_TRUE(world.run(kMinute * 2)) << at;
    EXPECT_EQ(world.sheet().state, JobState::kCompleted) << at;
    EXPECT_THAT(world.sheet().losses, IsEmpty()) << at;
    EXPECT_EQ(seconds_of(world), 240u) << at;
    EXPECT_EQ(world.looks_without_load, 0u) << at;
    EXPECT_EQ(world.looks_at_double_load, 0u) << at;
    for (const auto& part : world.measured(0)) EXPECT_EQ(part.twice, 0u) << at;
    EXPECT_TRUE(world.all_cores_free()) << at;
  }
}

TEST_F(Moves, AnotherOwnerLearnsFromTheWorkerThatItHasHandedOver) {
  world_.hand_over_fate = [](ShareId) { return Fate::kAnswerIsLost; };
  leave_and_settle();
  pass(Duration::millis(300));
  ASSERT_FALSE(of("w2").handed_over);
  world_.replace_owner();
  world_.step(kStep);
  EXPECT_TRUE(of("w2").handed_over);
  finish_whole();
}

TEST_F(Moves, AnotherOwnerThatComesTooLateKeepsTheShareWhereItIs) {
  world_.hand_over_fate = [](ShareId) { return Fate::kIsLost; };
  leave_and_settle();
  world_.worker("w2").leaves = false;
  pass(Duration::seconds(4));
  world_.hand_over_fate = nullptr;
  world_.replace_owner();
  finish();
  EXPECT_THAT(world_.sheet().losses, IsEmpty());
  EXPECT_EQ(seconds_of(world_), 240u);
  EXPECT_THAT(kinds(world_.sheet()), Contains("extra_load"));
}

TEST_F(Moves, ACancellationEndsBothSides) {
  leave_and_settle();
  world_.cancel({});
  expect_end(world_, kMinute, JobState::kCancelled);
  EXPECT_TRUE(world_.all_cores_free());
}

TEST_F(Moves, NothingIsMovedInTheLastMoment) {
  pass(Duration::seconds(49) - Duration::millis(500));
  leave("w2");
  finish_whole();
  EXPECT_FALSE(has("w3"));
}

}  // namespace
}  // namespace bellwether::dispatch
