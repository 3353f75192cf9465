#include "cluster/health/signals.h"

#include <gtest/gtest.h>

#include "core/base/time_testing.h"

namespace bellwether::health {
namespace {

WorkerReport busy_worker() {
  WorkerReport report;
  report.accepting = true;
  report.free_cores = 2;
  report.workflows = 1;
  report.loop_turns = {100, 5000};
  report.iterations = {400, 400};
  return report;
}

Report doing(uint64_t possible, uint64_t done) {
  ManagerReport manager{true, true, 3, 1, {possible, done}};
  return report_of(manager);
}

class SignalsTest : public testing::Test {
 protected:
  // Answers and says so at this second.
  void well(int64_t second, const Report& report) {
    node_.answered(at_seconds(second));
    node_.reported(at_seconds(second), report);
  }
  NodeHealth node_{SignalSettings{}, at_seconds(0)};
};

TEST_F(SignalsTest, a_new_node_gets_work_once_it_says_that_it_is_ready) {
  EXPECT_EQ(node_.routing(at_seconds(1)), Routing::kHold);
  well(1, report_of(busy_worker()));
  EXPECT_EQ(node_.routing(at_seconds(1)), Routing::kRoute);
  EXPECT_EQ(node_.progress(at_seconds(1)), Progress::kNormal);
}

TEST_F(SignalsTest, thirty_seconds_without_an_answer_are_a_death) {
  well(2, doing(1, 1));
  EXPECT_TRUE(node_.alive(at_seconds(31)));
  EXPECT_FALSE(node_.alive(at_seconds(32)));
  EXPECT_EQ(node_.routing(at_seconds(32)), Routing::kEvict);
}

TEST_F(SignalsTest, a_target_that_is_frozen_for_ten_minutes_drains_no_worker) {
  WorkerReport frozen = busy_worker();
  frozen.iterations = {};  // every user waits for an answer, so none can start
  for (int64_t second = 0; second < 600; second += 10) {
    well(second, report_of(frozen));
    EXPECT_EQ(node_.progress(at_seconds(second)), Progress::kNormal);
    EXPECT_EQ(node_.routing(at_seconds(second)), Routing::kRoute);
  }
  frozen.due_times = {1000, 1000};  // arrivals go on coming due: they are dropped and charged, which is to serve them
  well(600, report_of(frozen));
  EXPECT_EQ(node_.routing(at_seconds(600)), Routing::kRoute);
}

TEST_F(SignalsTest, a_week_of_one_workflow_is_no_lack_of_progress) {
  WorkerReport thinking = busy_worker();
  thinking.iterations = {};
  for (int64_t hour = 0; hour < 7 * 24; ++hour) {
    well(hour * 3600, report_of(thinking));
    EXPECT_EQ(node_.routing(at_seconds(hour * 3600)), Routing::kRoute);
  }
}

TEST_F(SignalsTest, a_worker_whose_loops_hardly_turn_is_looked_at) {
  WorkerReport slow = busy_worker();
  slow.loop_turns = {100, 50};
  well(0, report_of(slow));
  EXPECT_EQ(node_.progress(at_seconds(0)), Progress::kSlow);
  EXPECT_EQ(node_.routing(at_seconds(0)), Routing::kInvestigate);
}

TEST_F(SignalsTest, progress_is_the_share_of_the_possible) {
  const std::pair<uint64_t, Progress> expected[] = {{100, Progress::kNormal},  {80, Progress::kNormal},
                                                    {79, Progress::kSlow},     {30, Progress::kSlow},
                                                    {29, Progress::kDegraded}, {1, Progress::kDegraded}};
  for (const auto& [done, progress] : expected) {
    well(1, doing(100, done));
    EXPECT_EQ(node_.progress(at_seconds(1)), progress) << done;
  }
  well(1, doing(0, 0));
  EXPECT_EQ(node_.progress(at_seconds(1)), Progress::kNormal) << "a manager whose jobs all run has nothing to dispatch";
  well(1, report_of(ManagerReport{true, true, 3, 0, {}}));
  EXPECT_EQ(node_.progress(at_seconds(1)), Progress::kIdle);
  EXPECT_EQ(node_.routing(at_seconds(1)), Routing::kRoute);
}

TEST_F(SignalsTest, a_node_that_does_nothing_of_what_it_could_is_drained_and_after_a_minute_evicted) {
  well(0, doing(1, 0));
  EXPECT_EQ(node_.progress(at_seconds(0)), Progress::kDegraded) << "it may have become possible only now";
  well(10, doing(1, 0));
  EXPECT_EQ(node_.routing(at_seconds(10)), Routing::kInvestigate);
  well(20, doing(1, 0));
  EXPECT_EQ(node_.routing(at_seconds(20)), Routing::kDrain);
  for (int64_t second = 30; second < 80; second += 10) {
    well(second, doing(1, 0));
    EXPECT_EQ(node_.routing(at_seconds(second)), Routing::kDrain);
  }
  EXPECT_EQ(node_.routing(at_seconds(79)), Routing::kDrain);
  EXPECT_EQ(node_.routing(at_seconds(80)), Routing::kEvict);
  well(81, doing(1, 1));
  EXPECT_EQ(node_.routing(at_seconds(81)), Routing::kRoute) << "it moves again";
}

TEST_F(SignalsTest, one_that_answers_but_no_longer_reports_its_work_is_stuck) {
  well(0, doing(1, 1));
  for (int64_t second = 0; second < 30; second += 5) {
    node_.answered(at_seconds(second));
    EXPECT_EQ(node_.routing(at_seconds(second)), Routing::kRoute);
  }
  node_.answered(at_seconds(29));
  EXPECT_EQ(node_.routing(at_seconds(29)), Routing::kRoute);
  EXPECT_EQ(node_.routing(at_seconds(30)), Routing::kDrain);
  EXPECT_EQ(node_.progress(at_seconds(30)), Progress::kStuck);
  well(35, doing(1, 1));
  EXPECT_EQ(node_.routing(at_seconds(35)), Routing::kRoute);
}

TEST_F(SignalsTest, one_that_is_not_ready_keeps_its_work_and_gets_no_new_one) {
  WorkerReport full = busy_worker();
  full.free_cores = 0;
  well(0, report_of(full));
  EXPECT_EQ(node_.routing(at_seconds(0)), Routing::kHold);
  well(1, report_of(ManagerReport{false, true, 3, 1, {1, 1}}));
  EXPECT_EQ(node_.routing(at_seconds(1)), Routing::kHold) << "no quorum";
  well(1, report_of(ManagerReport{true, true, 0, 1, {1, 1}}));
  EXPECT_EQ(node_.routing(at_seconds(1)), Routing::kHold) << "no workers";
  well(3, report_of(ManagerReport{true, true, 3, 1, {1, 1}}));
  EXPECT_EQ(node_.routing(at_seconds(3)), Routing::kRoute);
}

}  // namespace
}  // namespace bellwether::health
