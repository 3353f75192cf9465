// The teardown of jobs that were stopped, or failed: it follows, once, when nothing runs any more of what was to be.
#include <gmock/gmock.h>

#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr uint16_t kSetup = 0;
constexpr uint16_t kLoad = 1;
constexpr uint16_t kTeardown = 2;

WorkflowSpec once(std::string name, std::vector<uint16_t> depends) {
  WorkflowSpec spec = load_spec(std::move(name), Duration::zero(), std::move(depends));
  spec.is_test = false;
  spec.vus = 1;
  return spec;
}

// The setup leaves a token, which the teardown needs.
JobSpec framed() {
  JobSpec spec{once("setup", {}), load_spec("browse", Duration::seconds(30), {0}), once("teardown", {0, 1})};
  spec[kSetup].provides = {"token"};
  spec[kTeardown].uses = {{kSetup, 0, "token", true}};
  spec[kTeardown].is_teardown = true;
  return spec;
}

class JobTeardown : public testing::Test {
 protected:
  void start(JobRules rules = {}, JobSpec spec = framed()) {
    world_ = std::make_unique<JobWorld>(std::move(spec), 1, rules);
    world_->add("w1", 2);
    world_->add("w2", 2);
    world_->begin();
  }
  void start_load(JobRules rules = {}) {
    start(rules);
    ASSERT_TRUE(until([&] { return runs(kLoad); }));
    steps(20);
  }
  // A step, at which nothing of the load runs beside the teardown, and the teardown runs once.
  void step() {
    world_->step(Duration::millis(100));
    int tearing = 0;
    for (const auto& [name, worker] : world_->workers()) {
      for (const auto& [id, one] : worker.shares) {
        tearing += one.workflow == kTeardown && one.phase == SharePhase::kRunning ? 1 : 0;
      }
    }
    EXPECT_LE(tearing, 1);
    EXPECT_FALSE(tearing > 0 && (runs(kLoad) || runs(kSetup)));
  }
  void steps(int count) {
    while (count-- > 0) step();
  }
  template <class What>
  bool until(What what, int most = 1000) {
    for (int i = 0; i < most && !what(); ++i) step();
    return what();
  }
  bool over() {
    return until([&] { return world_->job().over(); }, 20'000);
  }
  bool runs(uint16_t workflow) const { return where(workflow) != ""; }
  std::string where(uint16_t workflow) const {
    for (const auto& [name, worker] : world_->workers()) {
      for (const auto& [id, one] : worker.shares) {
        if (worker.alive && one.workflow == workflow && one.phase == SharePhase::kRunning) return name;
      }
    }
    return "";
  }
  void stop(JobStop::Cause cause, StopHow how, uint64_t number = 0, std::string why = "enough") {
    JobEffects out;
    world_->job().stop(world_->now(), {cause, how, "ann", std::move(why), number}, {}, out);
    world_->carry_out(out);
  }
  void cancel(uint64_t number, StopHow how = StopHow::kAtOnce) { stop(JobStop::Cause::kCancelled, how, number); }
  // Until it is told to end.
  void keep_the_teardown_running() {
    world_->ends_itself = [](uint16_t workflow) { return workflow != kTeardown; };
  }
  std::string event(const std::string& kind) const {
    for (const JobEvent& one : world_->sheet().events) {
      if (one.kind == kind) return one.detail;
    }
    return "";
  }
  WorkflowState state(uint16_t workflow) const { return world_->sheet().workflows[workflow].state; }
  std::vector<std::string> given() const {
    std::vector<std::string> out;
    for (const auto& [id, order] : world_->orders()) {
      for (const plan::Given& one : order.given) out.push_back(one.text);
    }
    return out;
  }

  std::unique_ptr<JobWorld> world_;
};

class JobTeardownOfLoad : public JobTeardown {
 protected:
  void SetUp() override { start_load(); }
};

// Cancelled, the load has ended, and the teardown runs until it is told to end.
class JobTeardownRuns : public JobTeardownOfLoad {
 protected:
  void SetUp() override {
    start_load();
    keep_the_teardown_running();
    cancel(7);
    ASSERT_TRUE(until([&] { return runs(kTeardown); }));
  }
};

TEST_F(JobTeardownOfLoad, follows_what_was_cancelled_with_what_the_setup_left) {
  cancel(7);
  EXPECT_EQ(world_->sheet().state, JobState::kCancelling);
  ASSERT_TRUE(over());
  EXPECT_EQ(world_->sheet().state, JobState::kCancelled);
  EXPECT_EQ(world_->sheet().why, "enough");
  EXPECT_EQ(state(kSetup), WorkflowState::kCompleted);
  EXPECT_EQ(state(kLoad), WorkflowState::kCancelled);
  EXPECT_EQ(state(kTeardown), WorkflowState::kCompleted);
  EXPECT_THAT(given(), Contains("token of part 0"));
  EXPECT_THAT(kinds(world_->sheet()), Contains("teardown_follows"));
  EXPECT_TRUE(world_->all_cores_free());
}

TEST_F(JobTeardown, follows_what_was_aborted_and_the_reason_stays) {
  for (const JobStop::Cause cause : {JobStop::Cause::kThreshold, JobStop::Cause::kOnError}) {
    start_load();
    stop(cause, StopHow::kGraceful, 0, "too slow");
    ASSERT_TRUE(over());
    EXPECT_EQ(world_->sheet().state, JobState::kCompleted);
    EXPECT_EQ(world_->sheet().stop->why, "too slow");
    EXPECT_EQ(world_->sheet().stop->cause, cause);
    EXPECT_EQ(state(kTeardown), WorkflowState::kCompleted);
  }
}

TEST_F(JobTeardownOfLoad, follows_a_load_that_failed) {
  const std::vector<ShareSheet> shares = world_->sheet().shares;
  for (const ShareSheet& share : shares) {
    if (share.workflow == kLoad) world_->crash(share.id);
  }
  ASSERT_TRUE(over());
  EXPECT_EQ(world_->sheet().state, JobState::kFailed);
  EXPECT_EQ(state(kLoad), WorkflowState::kFailed);
  EXPECT_EQ(state(kTeardown), WorkflowState::kCompleted);
}

TEST_F(JobTeardownOfLoad, does_not_begin_while_something_still_runs_of_what_failed) {
  const auto of_load = [](const ShareSheet& share) { return share.workflow == kLoad; };
  const auto& shares = world_->sheet().shares;
  const ShareSheet first = *std::find_if(shares.begin(), shares.end(), of_load);
  const ShareSheet last = *std::find_if(shares.rbegin(), shares.rend(), of_load);
  ASSERT_NE(first.worker, last.worker);
  // It goes on for a while, for nothing reaches it.
  world_->worker(last.worker).silent = true;
  world_->crash(first.id);
  steps(50);
  EXPECT_EQ(state(kLoad), WorkflowState::kFailed);
  EXPECT_EQ(state(kTeardown), WorkflowState::kPending);
  world_->worker(last.worker).silent = false;
  ASSERT_TRUE(over());
  EXPECT_EQ(state(kTeardown), WorkflowState::kCompleted);
}

TEST_F(JobTeardown, does_not_follow_where_nothing_had_begun) {
  start();
  cancel(7);
  ASSERT_TRUE(over());
  EXPECT_EQ(world_->sheet().state, JobState::kCancelled);
  EXPECT_EQ(state(kTeardown), WorkflowState::kSkipped);
  EXPECT_THAT(world_->sheet().workflows[kTeardown].why, HasSubstr("nothing had begun"));
  EXPECT_THAT(kinds(world_->sheet()), Not(Contains("teardown_follows")));
}

TEST_F(JobTeardown, follows_without_a_value_that_nobody_has_left_and_says_so) {
  start();
  world_->provides = false;
  ASSERT_TRUE(until([&] { return runs(kLoad); }));
  cancel(7);
  ASSERT_TRUE(over());
  EXPECT_EQ(state(kTeardown), WorkflowState::kCompleted);
  EXPECT_EQ(event("value_missing"), "workflow 'setup' provided no 'token' for 'teardown'");
}

TEST_F(JobTeardownRuns, a_second_cancellation_ends_it_at_once_and_the_same_again_does_not) {
  cancel(7);
  steps(50);
  EXPECT_TRUE(runs(kTeardown));
  cancel(8, StopHow::kGraceful);
  steps(50);
  EXPECT_TRUE(runs(kTeardown));
  cancel(8);
  steps(5);
  EXPECT_FALSE(runs(kTeardown));
  EXPECT_TRUE(world_->job().over());
  EXPECT_EQ(world_->sheet().state, JobState::kCancelled);
  EXPECT_EQ(state(kTeardown), WorkflowState::kCancelled);
  EXPECT_EQ(event("teardown_stopped"), "enough, by 'ann'; 1 share on 1 worker");
}

TEST_F(JobTeardownOfLoad, a_graceful_cancellation_and_one_at_once_are_two) {
  cancel(0, StopHow::kGraceful);
  cancel(0);
  ASSERT_TRUE(over());
  EXPECT_EQ(state(kTeardown), WorkflowState::kCancelled);
  EXPECT_THAT(kinds(world_->sheet()), Not(Contains("teardown_follows")));
}

TEST_F(JobTeardownOfLoad, a_cancellation_of_what_was_aborted_ends_it_at_once) {
  keep_the_teardown_running();
  stop(JobStop::Cause::kThreshold, StopHow::kGraceful, 0, "too slow");
  ASSERT_TRUE(until([&] { return runs(kTeardown); }));
  cancel(7);
  steps(5);
  EXPECT_TRUE(world_->job().over());
  EXPECT_EQ(world_->sheet().state, JobState::kCancelled);
  EXPECT_FALSE(runs(kTeardown));
  EXPECT_EQ(state(kTeardown), WorkflowState::kCancelled);
}

TEST_F(JobTeardown, that_runs_already_is_stopped_with_the_rest) {
  start();
  keep_the_teardown_running();
  ASSERT_TRUE(until([&] { return runs(kTeardown); }));
  cancel(7);
  steps(5);
  EXPECT_TRUE(world_->job().over());
  EXPECT_EQ(world_->sheet().state, JobState::kCancelled);
  EXPECT_EQ(state(kLoad), WorkflowState::kCompleted);
  EXPECT_EQ(state(kTeardown), WorkflowState::kCancelled);
}

TEST_F(JobTeardown, the_timeout_of_the_job_ends_it_and_it_follows_no_timeout) {
  JobRules rules;
  rules.timeout = Duration::seconds(20);
  start_load(rules);
  keep_the_teardown_running();
  cancel(7);
  ASSERT_TRUE(until([&] { return runs(kTeardown); }));
  ASSERT_TRUE(until([&] { return world_->job().over(); }, 250));
  EXPECT_EQ(world_->sheet().state, JobState::kCancelled);
  EXPECT_EQ(world_->sheet().why, "enough");
  EXPECT_THAT(event("teardown_stopped"), HasSubstr("its timeout of"));

  start_load(rules);
  ASSERT_TRUE(over());
  EXPECT_EQ(world_->sheet().state, JobState::kTimedOut);
  EXPECT_EQ(state(kTeardown), WorkflowState::kSkipped);
}

TEST_F(JobTeardownRuns, is_waited_for_so_long_and_no_longer) {
  steps(5900);
  EXPECT_TRUE(runs(kTeardown));
  ASSERT_TRUE(until([&] { return world_->job().over(); }, 200));
  EXPECT_EQ(world_->sheet().state, JobState::kCancelled);
  EXPECT_EQ(world_->sheet().why, "enough");
  EXPECT_EQ(state(kTeardown), WorkflowState::kTimedOut);
  EXPECT_THAT(event("teardown_stopped"), HasSubstr("waits 600.0 s for its teardown"));
}

TEST_F(JobTeardownRuns, another_owner_waits_no_longer) {
  steps(3000);
  world_->replace_owner();
  steps(2900);
  EXPECT_TRUE(runs(kTeardown));
  ASSERT_TRUE(until([&] { return world_->job().over(); }, 200));
  EXPECT_EQ(state(kTeardown), WorkflowState::kTimedOut);
}

TEST_F(JobTeardownRuns, another_owner_goes_on_with_the_one_that_runs) {
  const std::size_t shares = world_->sheet().shares.size();
  steps(5);
  world_->forget_owner();
  steps(20);
  world_->replace_owner();
  steps(20);
  EXPECT_TRUE(runs(kTeardown));
  world_->ends_itself = [](uint16_t) { return true; };
  ASSERT_TRUE(over());
  EXPECT_EQ(world_->sheet().state, JobState::kCancelled);
  EXPECT_EQ(state(kTeardown), WorkflowState::kCompleted);
  EXPECT_EQ(world_->sheet().shares.size(), shares);
}

TEST_F(JobTeardownRuns, goes_on_elsewhere_when_its_worker_dies) {
  const std::string first = where(kTeardown);
  world_->die(first);
  ASSERT_TRUE(until([&] { return runs(kTeardown) && where(kTeardown) != first; }));
  world_->ends_itself = [](uint16_t) { return true; };
  ASSERT_TRUE(over());
  EXPECT_EQ(world_->sheet().state, JobState::kCancelled);
  EXPECT_EQ(state(kTeardown), WorkflowState::kCompleted);
  EXPECT_EQ(world_->sheet().workflows[kTeardown].retries, 1u);
}

TEST_F(JobTeardownOfLoad, without_any_worker_the_job_ends_all_the_same) {
  cancel(7);
  world_->die("w1");
  world_->die("w2");
  ASSERT_TRUE(until([&] { return world_->job().over(); }, 900));
  EXPECT_EQ(world_->sheet().state, JobState::kCancelled);
  EXPECT_EQ(world_->sheet().why, "enough");
  EXPECT_EQ(state(kTeardown), WorkflowState::kFailed);
  EXPECT_THAT(world_->sheet().workflows[kTeardown].why, HasSubstr("no worker"));
}

TEST_F(JobTeardown, follows_a_setup_after_which_nothing_could_be_handed_out) {
  start();
  ASSERT_TRUE(until([&] { return runs(kSetup); }));
  for (auto& [name, worker] : world_->workers()) worker.refuses = true;
  ASSERT_TRUE(until([&] { return state(kLoad) == WorkflowState::kFailed; }, 3000));
  for (auto& [name, worker] : world_->workers()) worker.refuses = false;
  ASSERT_TRUE(over());
  EXPECT_EQ(world_->sheet().state, JobState::kFailed);
  EXPECT_EQ(state(kTeardown), WorkflowState::kCompleted);
}

TEST_F(JobTeardownOfLoad, that_fails_is_not_why_the_job_was_cancelled) {
  world_->register_stands = false;
  ASSERT_TRUE(until([&] { return state(kLoad) == WorkflowState::kCompleted; }));
  cancel(7);
  world_->register_stands = true;
  for (auto& [name, worker] : world_->workers()) worker.breaks = true;
  ASSERT_TRUE(over());
  EXPECT_EQ(state(kTeardown), WorkflowState::kFailed);
  EXPECT_EQ(world_->sheet().state, JobState::kCancelled);
  EXPECT_EQ(world_->sheet().why, "enough");
}

// Whatever happens: its end comes, and what was set up and is not given up is tidied up after once, alone.
TEST_F(JobTeardown, runs_to_its_end_once_at_most_and_never_beside_the_load) {
  int followed = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
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
      if (i == first && aborts) stop(JobStop::Cause::kOnError, StopHow::kGraceful);
      if (i == first && !aborts) cancel(seed);
      if (i == second) cancel(seed + 1);
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
    const JobSheet& sheet = world_->sheet();
    int ends = 0;
    for (const ShareSheet& share : sheet.shares) {
      ends += share.workflow == kTeardown && share.end && share.end->outcome == ShareOutcome::kCompleted ? 1 : 0;
    }
    EXPECT_LE(ends, 1);
    // One that is told to stop may have come to its end by then.
    if (state(kTeardown) == WorkflowState::kCompleted) EXPECT_EQ(ends, 1);
    if (sheet.started.unix_ns == 0) EXPECT_EQ(ends, 0);
    followed += ends == 1 && sheet.stop ? 1 : 0;
    if (HasFailure()) break;
  }
  EXPECT_GT(followed, 200);
}

}  // namespace
}  // namespace bellwether::dispatch
