#include <gtest/gtest.h>

#include "sim/node.h"
#include "sim/sim_testing.h"

namespace bellwether::sim {
namespace {

using runtime::ProcessIdentity;
using runtime::ProcessSight;
using runtime::Runtime;
using runtime::task;
using State = ProcessSight::State;

task<void> live(Runtime& runtime, void* context) {
  static_cast<std::vector<ProcessIdentity>*>(context)->push_back(runtime.self());
  co_await runtime.sleep_until(Instant::never());
}

class ProcessesTest : public testing::Test {
 protected:
  ProcessSight sight(int64_t pid) { return node_.runtime().look_at_process(pid); }
  std::vector<ProcessIdentity> lives_;
  World world_{11};
  Node& node_ = world_.add_node("node");
};

TEST_F(ProcessesTest, a_process_knows_itself) {
  node_.start(&live, &lives_);
  world_.run_for(Duration::seconds(1));
  ASSERT_EQ(lives_.size(), 1u);
  EXPECT_GT(lives_[0].pid, 0);
  EXPECT_EQ(lives_[0].host, "node");
  EXPECT_FALSE(lives_[0].boot_id.empty());
  EXPECT_FALSE(lives_[0].pid_namespace.empty());
  EXPECT_EQ(sight(lives_[0].pid).state, State::kAlive);
  EXPECT_EQ(sight(lives_[0].pid).start_time, lives_[0].start_time);
  EXPECT_EQ(sight(lives_[0].pid + 1).state, State::kDead);
}

TEST_F(ProcessesTest, the_next_one_is_another_of_the_same_boot) {
  node_.start(&live, &lives_);
  world_.run_for(Duration::seconds(1));
  node_.kill();
  node_.restart();
  world_.run_for(Duration::seconds(1));
  ASSERT_EQ(lives_.size(), 2u);
  EXPECT_NE(lives_[0].pid, lives_[1].pid);
  EXPECT_LT(lives_[0].start_time, lives_[1].start_time);
  EXPECT_EQ(lives_[0].boot_id, lives_[1].boot_id);
  EXPECT_EQ(sight(lives_[0].pid).state, State::kDead);
}

TEST_F(ProcessesTest, after_a_loss_of_power_the_same_id_means_another_process) {
  node_.start(&live, &lives_);
  world_.run_for(Duration::seconds(1));
  node_.lose_power();
  node_.restart();
  world_.run_for(Duration::seconds(1));
  ASSERT_EQ(lives_.size(), 2u);
  EXPECT_EQ(lives_[0].pid, lives_[1].pid);
  EXPECT_NE(lives_[0].boot_id, lives_[1].boot_id);
}

TEST_F(ProcessesTest, machines_differ) {
  std::vector<ProcessIdentity> others;
  Node& other = world_.add_node("other");
  node_.start(&live, &lives_);
  other.start(&live, &others);
  world_.run_for(Duration::seconds(1));
  EXPECT_NE(lives_[0].boot_id, others[0].boot_id);
  EXPECT_NE(lives_[0].host, others[0].host);
}

TEST_F(ProcessesTest, a_test_says_who_else_there_is) {
  node_.start(&live, &lives_);
  world_.run_for(Duration::seconds(1));
  node_.processes().set(7, {State::kAlive, 3});
  EXPECT_EQ(sight(7).state, State::kAlive);
  EXPECT_EQ(sight(7).start_time, 3u);
  node_.processes().set(8, {});
  EXPECT_EQ(sight(8).state, State::kAlive);
  EXPECT_FALSE(sight(8).start_time);
  node_.kill();
  node_.processes().set_next_pid(lives_[0].pid);
  node_.restart();
  world_.run_for(Duration::seconds(1));
  EXPECT_EQ(lives_[1].pid, lives_[0].pid) << "a process id was used again";
  EXPECT_NE(lives_[1].start_time, lives_[0].start_time);
}

}  // namespace
}  // namespace bellwether::sim
