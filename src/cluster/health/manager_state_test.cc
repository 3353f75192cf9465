#include <gtest/gtest.h>

#include "cluster/health/datacenter.h"
#include "core/base/time_testing.h"

namespace bellwether::health {
namespace {

struct ManagerStateTest : testing::Test {
  ManagerStateTest() { states.look(at_ms(0), {}); }
  ManagerStates states;
};

TEST_F(ManagerStateTest, it_hands_out_once_every_worker_has_reported) {
  states.look(at_ms(500), {true, 4, 2});
  EXPECT_FALSE(states.hands_out());
  EXPECT_EQ(states.reason(), "2 of 4 workers have not reported yet");
  EXPECT_TRUE(states.look(at_ms(900), {true, 4, 0}));
  EXPECT_EQ(states.state(), ManagerState::kActive);
  EXPECT_EQ(states.reason(), "");
}

TEST_F(ManagerStateTest, it_does_not_believe_at_once_that_nobody_is_there) {
  states.look(at_ms(3'499), {true, 0, 0});
  EXPECT_EQ(states.state(), ManagerState::kSyncing);
  EXPECT_EQ(states.reason(), "no worker is known yet");
  states.look(at_ms(3'500), {true, 0, 0});
  EXPECT_EQ(states.state(), ManagerState::kActive);
}

TEST_F(ManagerStateTest, it_waits_a_moment_for_others_than_the_first) {
  states.look(at_ms(499), {true, 1, 0});
  EXPECT_EQ(states.state(), ManagerState::kSyncing);
  states.look(at_ms(500), {true, 1, 0});
  EXPECT_EQ(states.state(), ManagerState::kActive);
}

TEST_F(ManagerStateTest, unread_registers_hold_it_back) {
  states.look(at_ms(2'000), {false, 1, 0});
  EXPECT_EQ(states.state(), ManagerState::kSyncing);
  EXPECT_EQ(states.reason(), "it has not read the job registers yet");
}

TEST_F(ManagerStateTest, who_never_reports_stops_the_others_only_for_so_long) {
  states.look(at_ms(3'499), {true, 3, 1});
  EXPECT_EQ(states.state(), ManagerState::kSyncing);
  states.look(at_ms(3'500), {true, 3, 1});
  EXPECT_EQ(states.state(), ManagerState::kActive);
  EXPECT_EQ(states.reason(), "1 of 3 workers have not reported yet");
}

TEST_F(ManagerStateTest, a_worker_that_comes_later_does_not_make_it_sync_again) {
  states.look(at_ms(500), {true, 1, 0});
  EXPECT_FALSE(states.look(at_ms(600), {true, 2, 1}));
  EXPECT_TRUE(states.hands_out());
}

TEST(ManagerState, leaving_is_for_good) {
  ManagerStates states;
  states.leave();
  states.look(at_ms(4'000), {true, 0, 0});
  EXPECT_EQ(states.state(), ManagerState::kDraining);
  EXPECT_FALSE(states.hands_out());
}

}  // namespace
}  // namespace bellwether::health
