// Workflows that do a number of iterations: what is left of it goes on elsewhere, and what may have begun does not.
#include <gmock/gmock.h>

#include "jobs/dispatch/job.h"
#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Two workers of two parts each, ten iterations a second and part: 20 s of it, and at most two minutes.
class Counted : public ::testing::Test {
 protected:
  static constexpr uint64_t kPlanned = 800;

  static WorkflowSpec spec() {
    WorkflowSpec spec = load_spec("count", kMinute * 2);
    spec.counted = plan::Iterations{.vus = 4, .iterations = kPlanned};
    spec.vus = 4;
    return spec;
  }
  Counted() : world({spec()}, 1) {
    for (const char* name : {"w1", "w2"}) world.add(name, 2);
  }
  void step_for(Duration span) {
    for (int64_t i = 0; i < span / kStep; ++i) world.step(kStep);
  }
  uint64_t ordered_to(const std::string& worker) {
    uint64_t sum = 0;
    for (const ShareSheet& share : world.sheet().shares) sum += share.worker == worker ? share.iterations : 0;
    return sum;
  }
  // The number that the causes of losses tell, "… with 37 iterations …".
  uint64_t lost() {
    uint64_t sum = 0;
    for (const plan::Loss& loss : world.sheet().losses) {
      const std::size_t at = loss.cause.find(" iteration");
      if (at == std::string::npos) continue;
      const std::size_t begin = loss.cause.find_last_of(' ', at - 1);
      sum += std::stoull(loss.cause.substr(begin == std::string::npos ? 0 : begin + 1));
    }
    return sum;
  }

  JobWorld world;
};

TEST_F(Counted, EachPartHasItsNumberAndTheWorkflowEndsWithTheLast) {
  ASSERT_TRUE(world.begins());
  EXPECT_EQ(ordered_to("w1"), kPlanned / 2);
  EXPECT_EQ(ordered_to("w2"), kPlanned / 2);
  expect_end(world, Duration::seconds(30));
  EXPECT_EQ(world.iterations_begun, kPlanned);
  EXPECT_THAT(world.sheet().losses, IsEmpty());
}

TEST_F(Counted, EachUserHasItsNumberWhereItIsEachOnes) {
  WorkflowSpec each = spec();
  each.counted = plan::Iterations{.vus = 4, .iterations = 30, .shared = false};
  JobWorld other({each}, 1);
  other.add("w1", 3);
  ASSERT_TRUE(other.begins());
  EXPECT_EQ(other.sheet().shares[0].iterations, 120u);
}

TEST_F(Counted, OfAWorkerThatDiedOthersDoTheRestAndWhatItMayHaveBegunIsLost) {
  ASSERT_TRUE(world.begins());
  step_for(Duration::millis(5'500));
  world.die("w1");
  expect_end(world, kMinute);
  EXPECT_LE(world.iterations_begun, kPlanned);
  EXPECT_GE(world.iterations_begun + lost(), kPlanned);
  EXPECT_THAT(kinds(world.sheet()), Contains("share_moved"));
  ASSERT_EQ(world.sheet().losses.size(), 1u);
  EXPECT_EQ(world.sheet().losses[0].cause,
            "worker 'w1' was lost with 20 iterations that it may have begun, workflow 'count'");
}

TEST_F(Counted, AWorkerThatLeavesStopsAndOthersDoExactlyTheRest) {
  ASSERT_TRUE(world.begins());
  step_for(Duration::millis(5'500));
  world.worker("w1").leaves = true;
  expect_end(world, kMinute);
  EXPECT_EQ(world.iterations_begun, kPlanned);
  EXPECT_THAT(world.sheet().losses, IsEmpty());
  EXPECT_THAT(kinds(world.sheet()), Contains("worker_left"));
}

TEST_F(Counted, AnotherOwnerKnowsWhatIsLeft) {
  ASSERT_TRUE(world.begins());
  step_for(Duration::millis(5'500));
  world.replace_owner();
  step_for(Duration::seconds(2));
  world.die("w2");
  expect_end(world, kMinute);
  EXPECT_LE(world.iterations_begun, kPlanned);
  EXPECT_GE(world.iterations_begun + lost(), kPlanned);
}

TEST_F(Counted, WhoDiesOneAfterTheOtherLeavesWhatNobodyHasBegun) {
  for (const char* name : {"w3", "w4"}) world.add(name, 2);
  ASSERT_TRUE(world.begins());
  for (const char* name : {"w1", "w2", "w3"}) {
    step_for(Duration::millis(2'500));
    world.die(name);
  }
  expect_end(world, kMinute * 2);
  EXPECT_LE(world.iterations_begun, kPlanned);
  EXPECT_GE(world.iterations_begun + lost(), kPlanned);
}

TEST_F(Counted, WhereAllWasBegunNobodyGoesOn) {
  ASSERT_TRUE(world.begins());
  step_for(Duration::millis(19'800));
  world.die("w1");
  expect_end(world, kMinute);
  EXPECT_THAT(kinds(world.sheet()), Not(Contains("share_moved")));
  EXPECT_THAT(world.sheet().losses[0].cause, HasSubstr("worker 'w1' was lost with 20 iterations"));
}

TEST_F(Counted, WhereNobodyIsLeftTheRestIsALoss) {
  ASSERT_TRUE(world.begins());
  step_for(Duration::millis(5'000));
  for (const char* name : {"w1", "w2"}) world.die(name);
  ASSERT_TRUE(world.run(kMinute * 10));
  EXPECT_EQ(world.sheet().state, JobState::kFailed);
  EXPECT_GE(world.iterations_begun + lost(), kPlanned);
  EXPECT_THAT(world.sheet().losses.back().cause, HasSubstr("560 iterations that nobody was left for"));
}

}  // namespace
}  // namespace bellwether::dispatch
