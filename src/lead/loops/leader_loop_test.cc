#include "lead/loops/leader_loop.h"

#include <array>
#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "election/store/memory/memory_store.h"
#include "sim/world.h"

namespace bellwether::lead {
namespace {

using election::Epoch;

// What all processes of a test share: the store, and the work with its witnesses.
struct LeaderLoopStage {
  std::shared_ptr<store::Memory> memory = std::make_shared<store::Memory>();
  LoopPolicy policy;
  Duration tick_takes = Duration::millis(500);
  double errors = 0;  // the share of calls of the store that fail, half of them after they have happened

  int late_epochs = 0;
  Epoch highest;
  std::map<uint64_t, std::vector<Instant>> ticks;  // beginnings by epoch
  std::vector<Instant> begun;
  Instant last_act;
  sim::World world{1};  // last: what its processes use outlives it

  std::size_t all() const { return begun.size(); }
};

class FlakyKey final : public store::StoreKey {
 public:
  FlakyKey(runtime::Runtime& runtime, store::StoreKey& key, const double& errors)
      : runtime_(runtime), key_(key), errors_(errors) {}
  runtime::task<Result<election::Observation>> look(Instant deadline, runtime::Cancellation* cancel) override {
    if (fails()) co_return fail(Errc::kIo, "flaky");
    auto seen = co_await key_.look(deadline, cancel);
    co_return seen;
  }
  runtime::task<Result<election::WriteOutcome>> act(election::WriteRequest request, Instant deadline,
                                                    runtime::Cancellation* cancel) override {
    if (fails()) co_return fail(Errc::kIo, "flaky before");
    auto outcome = co_await key_.act(std::move(request), deadline, cancel);
    if (fails()) co_return fail(Errc::kIo, "flaky after");
    co_return outcome;
  }
  runtime::task<bool> changed(runtime::Cancellation* cancel) override {
    const bool heard = co_await key_.changed(cancel);
    co_return heard;
  }

 private:
  bool fails() { return errors_ > 0 && runtime_.prng().chance(errors_ / 2); }
  runtime::Runtime& runtime_;
  store::StoreKey& key_;
  const double& errors_;
};

// One process of the loop.
struct Runner final : LoopListener {
  LeaderLoopStage* stage = nullptr;
  sim::Node* node = nullptr;
  std::string holder;
  LeaderLoop* loop = nullptr;
  Epoch floor;
  bool fail_ticks = false;
  int elected = 0;
  int cancelled = 0;
  int lock_waits = 0;
  std::vector<election::EndReason> ends;
  bool gone = false;

  runtime::task<Status> tick(election::TermOfOffice term, Instant, runtime::Cancellation* cancel) {
    runtime::Runtime& runtime = node->runtime();
    const Instant end = runtime.now() + stage->tick_takes;
    stage->ticks[term.epoch.value()].push_back(stage->world.now());
    stage->begun.push_back(stage->world.now());
    while (!cancel->cancelled()) {
      if (term.valid_for(runtime.boot_now()) <= Duration::zero()) co_return fail(Errc::kCancelled, "no term");
      act(term.epoch);
      if (runtime.now() >= end) break;
      co_await runtime.sleep(Duration::millis(20), cancel);
    }
    if (cancel->cancelled()) ++cancelled;
    if (fail_ticks) co_return fail(Errc::kInvalid, "as told");
    co_return Status();
  }
  void act(Epoch epoch) {
    if (epoch < stage->highest) ++stage->late_epochs;
    stage->highest = std::max(stage->highest, epoch);
    stage->last_act = stage->world.now();
  }
  void on_elected(const election::TermOfOffice& term) override {
    ++elected;
    stage->highest = std::max(stage->highest, term.epoch);
  }
  void on_term_ended(const election::TermEnded& ended) override { ends.push_back(ended.reason); }
  void on_floor(Epoch seen) override { floor = seen; }
  void on_lock_wait(Duration) override { ++lock_waits; }
};

runtime::task<void> run_loop(runtime::Runtime& runtime, void* context) {
  auto& self = *static_cast<Runner*>(context);
  store::MemoryStore memory(runtime, self.stage->memory);
  const auto key = memory.open("k");
  FlakyKey flaky(runtime, **key, self.stage->errors);
  LoopSettings settings;
  settings.policy = self.stage->policy;
  settings.timing = *timing_of(self.stage->policy, memory.traits().lease_min);
  settings.traits = memory.traits();
  settings.holder = self.holder;
  settings.floor = self.floor;
  LeaderLoop loop(runtime, flaky, settings, runtime.prng().next(), callback_to<&Runner::tick>(self), self);
  self.loop = &loop;
  self.gone = false;
  co_await loop.run(nullptr);
  self.loop = nullptr;
  self.gone = true;
}

class LeaderLoopTest : public testing::Test {
 protected:
  LeaderLoopTest() {
    stage.policy.name = "l";
    stage.policy.lock_key = "k";
    stage.policy.poll_interval = Duration::seconds(5);
    stage.policy.lock_ttl = Duration::seconds(10);
    stage.policy.renew_every = Duration::zero();
    stage.policy.release_mode = ReleaseMode::kTtlHold;
    for (std::size_t i = 0; i < runners.size(); ++i) {
      runners[i].stage = &stage;
      runners[i].node = &stage.world.add_node("n" + std::to_string(i));
      runners[i].holder = "n" + std::to_string(i);
    }
  }
  void start(std::size_t i) { runners[i].node->start(&run_loop, &runners[i]); }
  void stop(std::size_t i) {
    runners[i].node->runtime().post([](void* self) { static_cast<Runner*>(self)->loop->stop("test"); }, &runners[i]);
  }
  // TTL + poll, with what the arithmetic of budget.h adds for drift and spread.
  Duration budget() const {
    return stage.policy.poll_interval * 17 / 16 + stage.policy.lock_ttl * 101 / 100 + Duration::millis(200);
  }
  void pass(Duration span) { stage.world.run_for(span); }

  std::array<Runner, 3> runners;
  LeaderLoopStage stage;
};

TEST_F(LeaderLoopTest, a_holder_that_keeps_its_lock_ticks_at_each_poll_under_one_epoch) {
  start(0);
  pass(Duration::seconds(1));
  start(1);
  pass(Duration::minutes(10));
  EXPECT_EQ(runners[0].elected, 1);
  EXPECT_EQ(runners[1].elected, 0);
  EXPECT_EQ(stage.ticks.size(), 1U);
  // Each wait is drawn from four to five seconds.
  EXPECT_GE(stage.all(), 115U);
  EXPECT_LE(stage.all(), 155U);
  for (std::size_t i = 1; i < stage.begun.size(); ++i) {
    EXPECT_LE(stage.begun[i] - stage.begun[i - 1], Duration::millis(5100));
  }
}

TEST_F(LeaderLoopTest, another_takes_over_within_ttl_and_poll_of_a_crash) {
  for (int round = 0; round < 20; ++round) {
    const std::size_t first = static_cast<std::size_t>(round) % 2;
    if (!runners[first].node->is_running()) start(first);
    pass(Duration::seconds(30) + Duration::millis(313 * round));
    if (!runners[1 - first].node->is_running()) start(1 - first);
    pass(Duration::seconds(10));
    const std::size_t before = stage.all();
    runners[first].node->kill();
    const Instant crashed = stage.world.now();
    ASSERT_TRUE(stage.world.run_while_waiting(Duration::minutes(1), [&] { return stage.all() > before; }));
    EXPECT_LE(stage.world.now() - crashed, budget()) << "round " << round;
  }
  EXPECT_EQ(stage.late_epochs, 0);
}

TEST_F(LeaderLoopTest, a_tick_without_renewals_is_stopped_before_its_lock_runs_out) {
  stage.tick_takes = Duration::minutes(5);
  start(0);
  pass(Duration::seconds(1));
  start(1);
  pass(Duration::seconds(9));
  EXPECT_EQ(runners[0].cancelled, 1);
  EXPECT_EQ(runners[0].ends.at(0), election::EndReason::kExpired);
  EXPECT_EQ(runners[1].elected, 0) << "not before the lock has run out, or was given back";
}

TEST_F(LeaderLoopTest, a_long_tick_goes_on_while_its_lock_is_renewed) {
  stage.policy.renew_every = Duration::seconds(3);
  stage.tick_takes = Duration::minutes(5);
  start(0);
  pass(Duration::minutes(4));
  EXPECT_EQ(stage.all(), 1U);
  EXPECT_EQ(runners[0].cancelled, 0);
  pass(Duration::minutes(2));
  EXPECT_EQ(stage.all(), 2U);
  EXPECT_EQ(runners[0].elected, 1);
}

TEST_F(LeaderLoopTest, explicit_release_lets_any_process_have_the_next_tick) {
  stage.policy.release_mode = ReleaseMode::kExplicit;
  stage.policy.lock_ttl = Duration::seconds(30);
  for (std::size_t i = 0; i < 3; ++i) start(i);
  pass(Duration::minutes(5));
  for (const Runner& runner : runners) {
    // It has the lock at most of its polls; the lease of thirty seconds does not keep it away.
    EXPECT_GE(runner.elected, 30);
    EXPECT_LE(runner.elected, 76);
  }
  EXPECT_EQ(stage.ticks.size(), stage.all()) << "each tick has an epoch of its own";
}

TEST_F(LeaderLoopTest, the_loop_goes_on_after_a_tick_that_fails) {
  runners[0].fail_ticks = true;
  start(0);
  pass(Duration::minutes(1));
  EXPECT_GE(stage.all(), 12U);
  EXPECT_EQ(runners[0].elected, 1);
  EXPECT_GT(runners[0].lock_waits, 10);
}

TEST_F(LeaderLoopTest, a_holder_whose_extension_fails_does_not_tick_and_goes_on_when_the_store_does) {
  start(0);
  pass(Duration::seconds(2));
  EXPECT_EQ(stage.all(), 1U);
  stage.errors = 2;
  pass(Duration::seconds(5));
  EXPECT_EQ(stage.all(), 1U);
  stage.errors = 0;
  pass(Duration::seconds(10));
  EXPECT_GE(stage.all(), 2U);
}

TEST_F(LeaderLoopTest, told_to_stop_it_cancels_its_tick_and_gives_the_lock_back) {
  stage.tick_takes = Duration::seconds(8);
  start(0);
  pass(Duration::seconds(2));
  start(1);
  pass(Duration::seconds(1));
  stop(0);
  pass(Duration::millis(100));
  EXPECT_TRUE(runners[0].gone);
  EXPECT_EQ(runners[0].cancelled, 1);
  EXPECT_EQ(runners[0].ends.back(), election::EndReason::kResigned);
  pass(Duration::millis(5100));
  EXPECT_EQ(runners[1].elected, 1) << "no lease had to run out";
}

TEST_F(LeaderLoopTest, a_paused_holder_acts_no_more_when_it_wakes) {
  stage.tick_takes = Duration::seconds(8);
  start(0);
  start(1);
  pass(Duration::seconds(1));
  const std::size_t holder = runners[0].elected == 1 ? 0 : 1;
  runners[holder].node->pause();
  pass(Duration::seconds(20));
  EXPECT_EQ(runners[1 - holder].elected, 1);
  runners[holder].node->resume();
  pass(Duration::seconds(30));
  EXPECT_EQ(stage.late_epochs, 0);
}

// One tick at a time, epochs that only grow, and a holder soon after the faults stop, under any faults before.
TEST_F(LeaderLoopTest, survives_crashes_pauses_and_a_store_that_fails) {
  for (const ReleaseMode mode : {ReleaseMode::kTtlHold, ReleaseMode::kExplicit}) {
    for (const Duration renew : {Duration::zero(), Duration::seconds(3)}) {
      stage.policy.release_mode = mode;
      stage.policy.renew_every = renew;
      for (std::size_t i = 0; i < 3; ++i) start(i);
      for (int step = 0; step < 400; ++step) {
        Runner& runner = runners[stage.world.prng().between(0, 2)];
        switch (stage.world.prng().between(0, 4)) {
          case 0: runner.node->is_running() ? runner.node->kill() : runner.node->restart(); break;
          case 1: runner.node->pause(); break;
          case 2: stage.errors = 0.3; break;
          case 3: stage.errors = 0; break;
          default: runner.node->resume();
        }
        stage.tick_takes = Duration::millis(stage.world.prng().between(1, 9000));
        pass(Duration::millis(stage.world.prng().between(1, 8000)));
      }
      stage.errors = 0;
      stage.tick_takes = Duration::millis(100);
      for (Runner& runner : runners) {
        runner.node->resume();
        if (!runner.node->is_running()) runner.node->restart();
      }
      pass(budget() * 2);
      const std::size_t before = stage.all();
      pass(Duration::seconds(6));
      EXPECT_GT(stage.all(), before);
      for (Runner& runner : runners) runner.node->kill();
    }
  }
  EXPECT_EQ(stage.late_epochs, 0);
}

}  // namespace
}  // namespace bellwether::lead
