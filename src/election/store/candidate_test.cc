#include "election/store/candidate.h"

#include <gtest/gtest.h>

#include "election/store/memory/memory_store.h"
#include "sim/world.h"

namespace bellwether::lead {
namespace {

using election::LeaseTiming;

// A key whose store does not report changes.
class Unwatched final : public store::StoreKey {
 public:
  explicit Unwatched(std::unique_ptr<StoreKey> key) : key_(std::move(key)) {}
  runtime::task<Result<election::Observation>> look(Instant deadline, runtime::Cancellation* cancel) override {
    return key_->look(deadline, cancel);
  }
  runtime::task<Result<election::WriteOutcome>> act(election::WriteRequest request, Instant deadline,
                                                    runtime::Cancellation* cancel) override {
    return key_->act(std::move(request), deadline, cancel);
  }
  runtime::task<bool> changed(runtime::Cancellation*) override { co_return false; }
  std::string watch_refused() const override { return "a role must permit it"; }

 private:
  std::unique_ptr<StoreKey> key_;
};

// A candidate for the key "k" of one shared memory, which records its notifications.
struct Contestant final : CandidateListener {
  std::shared_ptr<store::Memory> memory;
  std::string holder;
  Candidate* candidate = nullptr;
  election::TermOfOffice term;
  int elected = 0;
  int ended = 0;
  bool gone = false;
  bool stop_on_drain = true;
  bool unwatched = false;
  bool told_early = false;  // to stay out, before it begins
  std::vector<std::string> warnings;

  void on_elected(const election::TermOfOffice& won) override {
    ++elected;
    term = won;
  }
  void on_drain(const std::string&) override {
    if (stop_on_drain) candidate->work_stopped();
  }
  void on_note(bool warning, const std::string& text) override {
    if (warning) warnings.push_back(text);
  }
  void on_term_ended(const election::TermEnded& end) override {
    ++ended;
    if (end.work_runs) candidate->work_stopped();
  }
};

runtime::task<void> stand(runtime::Runtime& runtime, void* context) {
  auto& self = *static_cast<Contestant*>(context);
  store::MemoryStore memory(runtime, self.memory);
  auto key = memory.open("k");
  if (self.unwatched) key = std::make_unique<Unwatched>(std::move(*key));
  election::ElectorConfig config;
  config.key = "k";
  config.claim.holder = self.holder;
  config.timing = LeaseTiming::of(Duration::seconds(3));
  Candidate candidate(runtime, **key, config, runtime.prng().next(), self);
  self.candidate = &candidate;
  if (self.told_early) candidate.resign({.cause = "a signal", .heir = {}, .stay_out = true});
  co_await candidate.run(nullptr);
  self.candidate = nullptr;
  self.gone = true;
}

class CandidateTest : public testing::Test {
 protected:
  CandidateTest() {
    for (Contestant* one : {&a, &b}) one->memory = memory;
    a.holder = "a";
    b.holder = "b";
  }
  std::shared_ptr<store::Memory> memory = std::make_shared<store::Memory>();
  Contestant a;
  Contestant b;
  sim::World world{1};
};

TEST_F(CandidateTest, a_store_that_will_not_tell_of_changes_is_told_of_once) {
  a.unwatched = true;
  b.unwatched = true;
  world.add_node("a").start(&stand, &a);
  world.run_for(Duration::seconds(1));
  world.add_node("b").start(&stand, &b);
  world.run_for(Duration::minutes(1));
  ASSERT_EQ(b.warnings.size(), 1u);
  EXPECT_NE(b.warnings[0].find("a role must permit it"), std::string::npos);
}

TEST_F(CandidateTest, leads_as_long_as_it_lives_and_is_succeeded_when_it_is_killed) {
  sim::Node& first = world.add_node("a");
  sim::Node& second = world.add_node("b");
  first.start(&stand, &a);
  world.run_for(Duration::seconds(1));
  second.start(&stand, &b);
  world.run_for(Duration::minutes(5));
  EXPECT_EQ(a.elected, 1);
  EXPECT_EQ(b.elected, 0);
  first.kill();
  world.run_for(Duration::seconds(5));
  EXPECT_EQ(b.elected, 1);
  EXPECT_GT(b.term.epoch, a.term.epoch);
}

TEST_F(CandidateTest, a_paused_holder_learns_of_its_end_when_it_wakes) {
  sim::Node& first = world.add_node("a");
  first.start(&stand, &a);
  world.run_for(Duration::seconds(10));
  first.pause();
  world.run_for(Duration::seconds(30));
  EXPECT_EQ(a.ended, 0);
  first.resume();
  world.run_for(Duration::millis(10));
  EXPECT_EQ(a.ended, 1);
}

TEST_F(CandidateTest, the_boot_clock_ends_a_term_although_the_machine_slept) {
  sim::Node& first = world.add_node("a");
  first.start(&stand, &a);
  world.run_for(Duration::seconds(10));
  first.step_boot(Duration::hours(1));
  EXPECT_LE(a.term.valid_for(first.runtime().boot_now()), Duration::zero());
  world.run_for(Duration::millis(10));
  EXPECT_EQ(a.ended, 1) << "told at once, not when a monotonic timer comes round";
}

TEST_F(CandidateTest, a_wish_to_stay_out_that_comes_before_it_begins_is_kept) {
  a.told_early = true;
  world.add_node("a").start(&stand, &a);
  world.run_for(Duration::seconds(1));
  EXPECT_TRUE(a.gone);
  EXPECT_EQ(a.elected, 0);
}

TEST_F(CandidateTest, told_to_stay_out_it_hands_over_and_ends) {
  sim::Node& first = world.add_node("a");
  sim::Node& second = world.add_node("b");
  first.start(&stand, &a);
  world.run_for(Duration::seconds(1));
  second.start(&stand, &b);
  world.run_for(Duration::seconds(1));
  first.runtime().post(
      [](void* self) {
        static_cast<Contestant*>(self)->candidate->resign({.cause = "leaving", .heir = {}, .stay_out = true});
      },
      &a);
  world.run_for(Duration::seconds(1));
  EXPECT_TRUE(a.gone);
  EXPECT_EQ(a.ended, 1);
  EXPECT_EQ(b.elected, 1);
  EXPECT_EQ(b.term.epoch, election::Epoch(2));
}

}  // namespace
}  // namespace bellwether::lead
