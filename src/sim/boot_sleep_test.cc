// Sleeping on the boot clock of a simulated machine.
#include <gmock/gmock.h>

#include "sim/sim_testing.h"

namespace bellwether::sim {
namespace {

using runtime::Runtime;
using runtime::task;

// Sleeps a minute by each clock, again and again, and counts.
struct Minutes {
  int boot = 0;
  int monotonic = 0;
  bool early = false;
};

task<void> count_boot(Runtime& runtime, Minutes& minutes) {
  while (true) {
    const Instant deadline = runtime.boot_now() + Duration::minutes(1);
    co_await runtime.sleep_until_boot(deadline);
    minutes.early |= runtime.boot_now() < deadline;
    ++minutes.boot;
  }
}

task<void> count_minutes(Runtime& runtime, void* context) {
  auto& minutes = *static_cast<Minutes*>(context);
  task<void> boot = count_boot(runtime, minutes);
  while (true) {
    co_await runtime.sleep(Duration::minutes(1));
    ++minutes.monotonic;
  }
}

class BootSleepTest : public testing::Test {
 protected:
  void SetUp() override { node_.start(&count_minutes, &minutes_); }
  Minutes minutes_;
  World world_{7};
  Node& node_ = world_.add_node("node");
};

TEST_F(BootSleepTest, while_a_machine_is_awake_both_clocks_wake_alike) {
  world_.run_for(Duration::seconds(601));
  EXPECT_EQ(minutes_.boot, 10);
  EXPECT_EQ(minutes_.monotonic, 10);
  EXPECT_FALSE(minutes_.early);
}

TEST_F(BootSleepTest, a_machine_that_slept_past_the_time_wakes_the_sleeper_at_once) {
  world_.run_for(Duration::seconds(1));
  node_.step_boot(Duration::hours(1));
  world_.run_for(Duration::millis(1));
  EXPECT_EQ(minutes_.boot, 1);
  EXPECT_EQ(minutes_.monotonic, 0);
}

TEST_F(BootSleepTest, a_short_sleep_of_the_machine_makes_the_wait_shorter_by_as_much) {
  world_.run_for(Duration::seconds(1));
  node_.step_boot(Duration::seconds(50));
  world_.run_for(Duration::millis(8'999));
  EXPECT_EQ(minutes_.boot, 0);
  world_.run_for(Duration::millis(2));
  EXPECT_EQ(minutes_.boot, 1);
  EXPECT_FALSE(minutes_.early);
}

TEST_F(BootSleepTest, a_fast_clock_wakes_sooner) {
  node_.set_drift(1'000'000);
  world_.run_for(Duration::seconds(301));
  EXPECT_EQ(minutes_.boot, 10);
  EXPECT_FALSE(minutes_.early);
}

TEST_F(BootSleepTest, a_paused_process_wakes_when_it_may_run_again) {
  world_.run_for(Duration::seconds(1));
  node_.pause();
  node_.step_boot(Duration::hours(1));
  world_.run_for(Duration::minutes(5));
  EXPECT_EQ(minutes_.boot, 0);
  node_.resume();
  world_.run_for(Duration::millis(1));
  EXPECT_EQ(minutes_.boot, 1);
}

task<void> sleep_cancelled(Runtime& runtime, void* context) {
  auto& results = *static_cast<std::vector<bool>*>(context);
  runtime::Cancellation cancel;
  auto sleeping = runtime.sleep_until_boot(Instant::never(), &cancel);
  co_await runtime.sleep(Duration::seconds(1));
  cancel.cancel();
  bool slept = co_await sleeping;
  results.push_back(slept);
  slept = co_await runtime.sleep_until_boot(runtime.boot_now());
  results.push_back(slept);
}

TEST(BootSleep, a_sleeper_is_cancelled) {
  std::vector<bool> results;
  World world(7);
  world.add_node("node").start(&sleep_cancelled, &results);
  world.run_for(Duration::seconds(2));
  EXPECT_THAT(results, testing::ElementsAre(false, true));
}

}  // namespace
}  // namespace bellwether::sim
