#include "lead/candidate.h"

#include <gtest/gtest.h>

#include "sim/world.h"
#include "store/memory/memory_store.h"

namespace bellwether::lead {
namespace {

using election::LeaseTiming;

// A process that stands for the key "k" of one shared memory and notes what it is told.
struct Standing final : CandidateListener {
  std::shared_ptr<store::Memory> memory;
  std::string holder;
  Candidate* candidate = nullptr;
  election::TermOfOffice term;
  int elected = 0;
  int ended = 0;
  bool gone = false;
  bool stop_on_drain = true;

  void on_elected(const election::TermOfOffice& won) override {
    ++elected;
    term = won;
  }
  void on_drain(const std::string&) override {
    if (stop_on_drain) candidate->work_stopped();
  }
  void on_term_ended(const election::TermEnded& end) override {
    ++ended;
    if (end.work_runs) candidate->work_stopped();
  }
};

runtime::task<void> stand(runtime::Runtime& runtime, void* context) {
  auto& self = *static_cast<Standing*>(context);
  store::MemoryStore memory(runtime, self.memory);
  const auto key = memory.open("k");
  election::ElectorConfig config;
  config.key = "k";
  config.claim.holder = self.holder;
  config.timing = LeaseTiming::of(Duration::seconds(3));
  Candidate candidate(runtime, **key, config, runtime.prng().next(), self);
  self.candidate = &candidate;
  co_await candidate.run(nullptr);
  self.candidate = nullptr;
  self.gone = true;
}

class CandidateTest : public testing::Test {
 protected:
  CandidateTest() {
    for (Standing* one : {&a, &b}) one->memory = memory;
    a.holder = "a";
    b.holder = "b";
  }
  std::shared_ptr<store::Memory> memory = std::make_shared<store::Memory>();
  Standing a;
  Standing b;
  sim::World world{1};
};

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

TEST_F(CandidateTest, told_to_stay_out_it_hands_over_and_ends) {
  sim::Node& first = world.add_node("a");
  sim::Node& second = world.add_node("b");
  first.start(&stand, &a);
  world.run_for(Duration::seconds(1));
  second.start(&stand, &b);
  world.run_for(Duration::seconds(1));
  first.runtime().post(
      [](void* self) {
        static_cast<Standing*>(self)->candidate->resign({.cause = "leaving", .heir = {}, .stay_out = true});
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
