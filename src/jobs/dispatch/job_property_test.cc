// Random events of workers, owners, messages and the register, in any order.
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "core/base/cases_testing.h"
#include "jobs/dispatch/job_kernel.h"
#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

TEST(JobProperty, a_long_run_outlives_many_workers_one_after_the_other) {
  JobWorld world({load_spec("browse", kMinute * 5)}, 1);
  for (int i = 0; i < 8; ++i) world.add("w" + std::to_string(i), 2);
  ASSERT_TRUE(world.begins());
  for (int i = 0; i < 7; ++i) {
    for (int step = 0; step < 300; ++step) world.step(Duration::millis(100));
    world.die("w" + std::to_string(i));
    if (i < 6) world.restart("w" + std::to_string(i));
  }
  expect_end(world, kMinute * 10);
  for (const plan::Loss& loss : world.record().losses) EXPECT_LE((loss.to - loss.from).seconds_f(), 2.0);
}

// In all cases a job ends; no second of a part counts twice; the record has each uncounted second as a loss; and no
// core stays taken.
TEST(JobProperty, ends_whatever_happens_and_accounts_for_every_second) {
  for (uint64_t seed = 1; seed <= cases(250); ++seed) {
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
    ASSERT_TRUE(world.run(Duration::hours(2))) << "seed " << seed << ", job " << to_string(world.record().state);
    EXPECT_TRUE(world.all_cores_free()) << "seed " << seed;
    for (uint16_t w = 0; w < spec.size(); ++w) {
      const WorkflowRecord& one = world.record().workflows[w];
      EXPECT_TRUE(is_final(one.state)) << "seed " << seed;
      if (one.state != WorkflowState::kCompleted) continue;
      uint64_t measured = 0;
      for (const auto& part : world.measured(w)) {
        EXPECT_EQ(part.twice, 0u) << "seed " << seed << " workflow " << w;
        measured += part.seconds;
      }
      double lost = 0;
      for (const plan::Loss& loss : world.record().losses) {
        if (loss.cause.find("'" + spec[w].name + "'") == std::string::npos) continue;
        lost += (loss.to - loss.from).seconds_f() * loss.ratio * one.parts;
      }
      // A second that two assignments assignment is complete in neither.
      const double planned = spec[w].length.seconds_f() * one.parts;
      const double slack = 2.0 * one.parts * (1 + one.retries);
      EXPECT_NEAR(static_cast<double>(measured) + lost, planned, slack) << "seed " << seed << " workflow " << w;
    }
    if (::testing::Test::HasFailure()) break;
  }
}

// Workers are cut off from everybody and come back, owners die, the register is away: at no time do two workers run a
// part, and what a worker did not run is lost in the record.
TEST(JobProperty, no_part_runs_twice_whoever_is_cut_off) {
  uint64_t moved = 0;
  for (uint64_t seed = 1; seed <= cases(100); ++seed) {
    Prng prng(seed);
    const WorkflowSpec spec = load_spec("browse", Duration::seconds(prng.between(20, 90)));
    JobWorld world({spec}, seed);
    const uint64_t workers = 2 + prng.below(5);
    for (uint64_t i = 0; i < workers; ++i) world.add("w" + std::to_string(i), 1 + static_cast<uint32_t>(prng.below(3)));
    ASSERT_TRUE(world.begins());
    for (int i = 0; i < 20'000 && !world.job().over(); ++i) {
      world.step(Duration::millis(100));
      if (i > 1000) continue;
      const std::string name = "w" + std::to_string(prng.below(workers));
      if (prng.chance(0.01)) world.worker(name).silent = !world.worker(name).silent;
      if (prng.chance(0.001) && world.worker(name).alive) world.die(name);
      if (prng.chance(0.003)) world.restart(name);
      if (prng.chance(0.005)) world.replace_owner();
      if (prng.chance(0.02)) world.register_stands = !world.register_stands;
    }
    world.register_stands = true;
    for (auto& [name, worker] : world.workers()) worker.silent = false;
    ASSERT_TRUE(world.run(Duration::hours(2))) << "seed " << seed;
    EXPECT_EQ(world.looks_at_double_load, 0u) << "seed " << seed;
    for (const auto& part : world.measured(0)) EXPECT_EQ(part.twice, 0u) << "seed " << seed;
    for (const JobEvent& event : world.record().events)
      moved += event.detail.find("its last permit") == std::string::npos ? 0 : 1;
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(moved, cases(100) / 10) << "the fence did not show itself";
}

// With faults of messages, workers and owners in the middle of moves, every second counts once or is recorded as lost.
TEST(JobProperty, accounts_for_every_second_whatever_happens_while_assignments_move) {
  for (uint64_t seed = 1; seed <= cases(150); ++seed) {
    Prng prng(seed);
    WorkflowSpec spec = load_spec("browse", Duration::seconds(prng.between(20, 60)));
    spec.rebalance = prng.chance(0.5);
    JobWorld world({spec}, seed);
    const auto fate = [&](AssignmentId) {
      return prng.chance(0.7) ? Fate::kArrives : prng.chance(0.5) ? Fate::kIsLost : Fate::kAnswerIsLost;
    };
    world.take_over_fate = world.hand_over_fate = world.go_fate = fate;
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
    EXPECT_EQ(world.looks_at_double_load, 0u) << "seed " << seed;
    const WorkflowRecord& one = world.record().workflows[0];
    if (one.state != WorkflowState::kCompleted) continue;
    uint64_t measured = 0;
    for (const auto& part : world.measured(0)) {
      EXPECT_EQ(part.twice, 0u) << "seed " << seed;
      measured += part.seconds;
    }
    double lost = 0;
    for (const plan::Loss& loss : world.record().losses)
      lost += (loss.to - loss.from).seconds_f() * loss.ratio * one.parts;
    const double planned = spec.length.seconds_f() * one.parts;
    EXPECT_NEAR(static_cast<double>(measured) + lost, planned, 2.0 * one.parts * (1 + one.retries)) << "seed " << seed;
    if (::testing::Test::HasFailure()) break;
  }
}

TEST(JobProperty, another_owner_goes_on_with_a_move_wherever_the_last_one_was) {
  // The owner dies at each step of the way.
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
    EXPECT_EQ(world.record().state, JobState::kCompleted) << at;
    EXPECT_TRUE(world.record().losses.empty()) << at;
    EXPECT_EQ(seconds_of(world), 240u) << at;
    EXPECT_EQ(world.looks_without_load, 0u) << at;
    EXPECT_EQ(world.looks_at_double_load, 0u) << at;
    for (const auto& part : world.measured(0)) EXPECT_EQ(part.twice, 0u) << at;
    EXPECT_TRUE(world.all_cores_free()) << at;
  }
}

constexpr uint16_t kTeardown = 2;

WorkflowSpec once(std::string name, std::vector<uint16_t> depends) {
  WorkflowSpec spec = load_spec(std::move(name), Duration::zero(), std::move(depends));
  spec.is_test = false;
  spec.vus = 1;
  return spec;
}

// The setup provides a token, which the teardown needs.
JobSpec framed() {
  JobSpec spec{once("setup", {}), load_spec("browse", Duration::seconds(30), {0}), once("teardown", {0, 1})};
  spec[0].provides = {"token"};
  spec[kTeardown].uses = {{0, 0, "token", true}};
  spec[kTeardown].is_teardown = true;
  return spec;
}

class JobTeardown : public testing::Test {
 protected:
  // A step, at which none of the load runs beside the teardown, and the teardown runs once.
  void step() {
    world_->step(kStep);
    int tearing = 0;
    int others = 0;
    for (const auto& [name, worker] : world_->workers()) {
      for (const auto& [id, one] : worker.assignments) {
        if (worker.alive && one.phase == AssignmentPhase::kRunning) ++(one.workflow == kTeardown ? tearing : others);
      }
    }
    EXPECT_LE(tearing, 1);
    EXPECT_FALSE(tearing > 0 && others > 0);
  }
  bool over() {
    for (int i = 0; i < 20'000 && !world_->job().over(); ++i) step();
    return world_->job().over();
  }
  void stop(const JobStop& stop) {
    JobEffects out;
    world_->job().stop(world_->now(), stop, {}, out);
    world_->carry_out(out);
  }

  std::unique_ptr<JobWorld> world_;
};

// In all cases the job ends, and a setup that is not given up gets one teardown, alone.
TEST_F(JobTeardown, runs_to_its_end_once_at_most_and_never_beside_the_load) {
  uint64_t followed = 0;
  for (uint64_t seed = 1; seed <= cases(125); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    world_ = std::make_unique<JobWorld>(framed(), seed);
    for (int i = 0; i < 3; ++i) world_->add("w" + std::to_string(i), 2);
    world_->begin();
    const int first = static_cast<int>(prng.below(400));
    const int second = prng.chance(0.3) ? first + static_cast<int>(prng.below(40)) : -1;
    const bool aborts = prng.chance(0.3);
    for (int i = 0; i < 1000 && !world_->job().over(); ++i) {
      step();
      if (i == first && aborts) stop({JobStop::Cause::kOnError, StopHow::kGraceful, "ann", "enough"});
      if (i == first && !aborts) stop({JobStop::Cause::kCancelled, StopHow::kAtOnce, "ann", "enough", seed});
      if (i == second) stop({JobStop::Cause::kCancelled, StopHow::kAtOnce, "ann", "enough", seed + 1});
      const std::string name = "w" + std::to_string(prng.below(3));
      if (prng.chance(0.003) && world_->worker(name).alive) world_->die(name);
      if (prng.chance(0.01)) world_->restart(name);
      if (prng.chance(0.02)) world_->replace_owner();
      if (prng.chance(0.05)) world_->register_stands = !world_->register_stands;
    }
    world_->register_stands = true;
    for (int i = 0; i < 3; ++i) world_->worker("w" + std::to_string(i)).alive = true;
    ASSERT_TRUE(over());
    EXPECT_TRUE(world_->all_cores_free());
    const JobRecord& record = world_->record();
    int ends = 0;
    for (const AssignmentRecord& assignment : record.assignments) {
      ends +=
          assignment.workflow == kTeardown && assignment.end && assignment.end->outcome == AssignmentOutcome::kCompleted
              ? 1
              : 0;
    }
    EXPECT_LE(ends, 1);
    // A stopped one may have completed by then.
    if (record.workflows[kTeardown].state == WorkflowState::kCompleted) EXPECT_EQ(ends, 1);
    if (record.started.unix_ns == 0) EXPECT_EQ(ends, 0);
    followed += ends == 1 && record.stop ? 1 : 0;
    if (HasFailure()) break;
  }
  EXPECT_GT(followed, cases(125) / 5);
}

}  // namespace
}  // namespace bellwether::dispatch
