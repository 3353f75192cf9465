#include "lead/agents/watchdog.h"

#include <gmock/gmock.h>

namespace bellwether::lead {
namespace {

using Kind = WatchdogAct::Kind;
using testing::HasSubstr;

class WatchdogTest : public testing::Test {
 protected:
  // A check at this second: the process runs, the heartbeat shows this.
  WatchdogAct runs(int64_t second, const char* heartbeat) {
    return check(second, {.runs = true, .heartbeat = heartbeat});
  }
  WatchdogAct ended(int64_t second, bool succeeded, const char* heartbeat) {
    return check(second, {.succeeded = succeeded, .ended = "exit code 3", .heartbeat = heartbeat});
  }
  WatchdogAct check(int64_t second, WatchdogSight sight) {
    const WatchdogAct act = watchdog_.check(at(second), sight);
    if (act.kind != Kind::kNone) watchdog_.started(at(second));
    return act;
  }
  static Instant at(int64_t second) { return Instant() + Duration::seconds(second); }

  Watchdog watchdog_{{.stale_after = Duration::seconds(120)}, 1};
};

TEST_F(WatchdogTest, it_starts_the_process_and_leaves_one_that_beats_alone) {
  EXPECT_EQ(ended(0, false, "").kind, Kind::kStart);
  for (int i = 1; i < 100; ++i) EXPECT_EQ(runs(i * 60, std::to_string(i).c_str()).kind, Kind::kNone) << i;
  EXPECT_EQ(watchdog_.restarts(), 0u);
}

TEST_F(WatchdogTest, alive_without_a_heartbeat_for_the_stale_threshold_is_frozen) {
  ended(0, false, "1");
  EXPECT_EQ(runs(60, "2").kind, Kind::kNone);
  EXPECT_EQ(runs(120, "2").kind, Kind::kNone);
  EXPECT_EQ(runs(179, "2").kind, Kind::kNone) << "one second less than the threshold";
  const WatchdogAct act = runs(180, "2");
  EXPECT_EQ(act.kind, Kind::kRestart);
  EXPECT_THAT(act.why, HasSubstr("frozen: alive, but no heartbeat for 2m"));
  EXPECT_EQ(runs(240, "2").kind, Kind::kNone) << "the new process gets the threshold too";
  EXPECT_EQ(runs(300, "2").kind, Kind::kRestart);
}

TEST_F(WatchdogTest, a_heartbeat_that_cannot_be_looked_at_proves_nothing) {
  ended(0, false, "1");
  for (int i = 1; i < 10; ++i) EXPECT_EQ(check(i * 60, {.runs = true}).kind, Kind::kNone) << i;
}

TEST_F(WatchdogTest, the_first_restart_comes_at_once_and_later_ones_wait_longer) {
  ended(0, false, "1");
  const WatchdogAct first = ended(10, false, "1");
  EXPECT_EQ(first.kind, Kind::kStart);
  EXPECT_THAT(first.why, HasSubstr("dead: exit code 3"));
  EXPECT_EQ(ended(20, false, "1").kind, Kind::kNone);
  const Instant due = watchdog_.due();
  EXPECT_GE(due, at(25));
  EXPECT_LE(due, at(30));
  EXPECT_EQ(ended(30, false, "1").kind, Kind::kStart);
  EXPECT_EQ(ended(40, false, "1").kind, Kind::kNone);
  EXPECT_GE(watchdog_.due(), at(55));
  EXPECT_LE(watchdog_.due(), at(70));
  EXPECT_EQ(ended(70, false, "1").kind, Kind::kStart);
  EXPECT_EQ(ended(2000, false, "1").kind, Kind::kStart) << "after ten quiet minutes again at once";
}

TEST_F(WatchdogTest, a_follower_that_went_in_good_order_comes_back_when_the_leader_falls_silent) {
  ended(0, false, "1");
  EXPECT_EQ(ended(60, true, "2").kind, Kind::kNone);
  EXPECT_EQ(ended(120, true, "3").kind, Kind::kNone);
  EXPECT_EQ(ended(180, true, "3").kind, Kind::kNone);
  const WatchdogAct act = ended(240, true, "3");
  EXPECT_EQ(act.kind, Kind::kStart);
  EXPECT_THAT(act.why, HasSubstr("heartbeat has stopped"));
}

TEST_F(WatchdogTest, a_forced_restart_happens_once_whatever_is_seen) {
  ended(0, false, "1");
  watchdog_.force();
  EXPECT_EQ(runs(1, "2").kind, Kind::kRestart);
  EXPECT_EQ(runs(2, "3").kind, Kind::kNone);
}

TEST_F(WatchdogTest, restarts_are_counted_over_the_last_hour) {
  ended(0, false, "1");
  int64_t second = 0;
  while (watchdog_.restarts() < 20 && second < 3600) {
    EXPECT_FALSE(watchdog_.restarts_too_often(at(second)));
    ended(second += 10, false, "1");
  }
  EXPECT_EQ(watchdog_.restarts_last_hour(at(second)), 20u);
  EXPECT_TRUE(watchdog_.restarts_too_often(at(second)));
  EXPECT_EQ(watchdog_.restarts_last_hour(at(second + 3600)), 0u);
  EXPECT_EQ(watchdog_.restarts(), 20u);
}

}  // namespace
}  // namespace bellwether::lead
