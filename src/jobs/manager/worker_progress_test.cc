#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/manager/worker_registry.h"

namespace bellwether::node {
namespace {

using dispatch::AssignmentId;
using dispatch::AssignmentPhase;
using dispatch::Headway;
using health::Progress;
using health::Routing;

// A worker with two assignments of different jobs, that reports once a second.
class WorkerProgressTest : public testing::Test {
 protected:
  WorkerProgressTest() {
    report_.life = 1;
    report_.takes_work = true;
    report_.held = {{"j1", dispatch::JobFence(1), AssignmentId(1), AssignmentPhase::kRunning, {}},
                    {"j2", dispatch::JobFence(1), AssignmentId(7), AssignmentPhase::kRunning, {}}};
  }
  void report() { progress_.reported(now_, report_); }
  // Of each assignment: turns, iterations and arrivals in a second, possible and done.
  void second(const Headway& first, const Headway& other = {10, 10, 0, 0, 0, 0}) {
    now_ += Duration::seconds(1);
    add(report_.held[0].headway, first);
    if (report_.held.size() > 1) add(report_.held[1].headway, other);
    report();
  }
  void expect(Progress progress, Routing routing) const {
    EXPECT_EQ(to_string(progress_.progress(now_)), to_string(progress));
    EXPECT_EQ(to_string(progress_.routing(now_)), to_string(routing));
  }
  std::vector<uint32_t> evicted() const {
    std::vector<uint32_t> out;
    for (const WorkerProgress::Stuck& one : progress_.to_evict(now_)) out.push_back(one.assignment.value());
    return out;
  }

  WorkerProgress progress_;
  dispatch::WorkerReport report_;
  Instant now_ = Instant::from_ns(1'000'000'000);

 private:
  static void add(Headway& to, const Headway& more) {
    to.could_turn += more.could_turn;
    to.turned += more.turned;
    to.could_begin += more.could_begin;
    to.begun += more.begun;
    to.due += more.due;
    to.served += more.served;
  }
};

constexpr Headway kWell{10, 10, 50, 50, 20, 20};
constexpr Headway kNothing{10, 0, 0, 0, 0, 0};

TEST_F(WorkerProgressTest, one_without_assignments_is_idle_and_gets_work_if_it_takes_any) {
  report_.held.clear();
  report();
  expect(Progress::kIdle, Routing::kRoute);
  report_.takes_work = false;
  report();
  expect(Progress::kIdle, Routing::kHold);
}

TEST_F(WorkerProgressTest, what_is_only_prepared_is_no_work) {
  for (auto& held : report_.held) held.phase = AssignmentPhase::kReady;
  for (int i = 0; i < 100; ++i) second({});
  expect(Progress::kIdle, Routing::kRoute);
}

TEST_F(WorkerProgressTest, the_worst_assignment_and_the_worst_figure_of_it_count) {
  report();
  second(kWell);
  expect(Progress::kNormal, Routing::kRoute);
  second({10, 10, 50, 20, 20, 20});
  expect(Progress::kSlow, Routing::kInvestigate);
  second({10, 10, 50, 50, 20, 1});
  expect(Progress::kDegraded, Routing::kInvestigate);
  second(kWell);
  expect(Progress::kNormal, Routing::kRoute);
}

TEST_F(WorkerProgressTest, for_ten_minutes_without_an_answer_of_the_target_nothing_is_held_against_it) {
  report();
  for (int i = 0; i < 600; ++i) {
    second({10, 10, 0, 0, 20, 20}, {10, 10, 0, 0, 0, 0});
    expect(Progress::kNormal, Routing::kRoute);
  }
}

TEST_F(WorkerProgressTest, an_assignment_whose_process_stands_still_is_drained_then_evicted_alone) {
  report();
  second(kWell);
  second(kNothing);
  second(kNothing);
  expect(Progress::kDegraded, Routing::kInvestigate);
  second(kNothing);
  expect(Progress::kStuck, Routing::kDrain);
  for (int i = 1; i < 60; ++i) {
    second(kNothing);
    EXPECT_TRUE(evicted().empty()) << i;
  }
  second(kNothing);
  EXPECT_THAT(evicted(), testing::ElementsAre(1));
  report_.held.erase(report_.held.begin());
  second({10, 10, 0, 0, 0, 0});
  expect(Progress::kNormal, Routing::kRoute);
  EXPECT_TRUE(evicted().empty());
}

TEST_F(WorkerProgressTest, whoever_moves_again_in_time_is_not_evicted) {
  report();
  for (int i = 0; i < 62; ++i) second(kNothing);
  expect(Progress::kStuck, Routing::kDrain);
  second({10, 1, 0, 0, 0, 0});
  expect(Progress::kDegraded, Routing::kInvestigate);
  for (int i = 0; i < 10; ++i) second(kNothing);
  EXPECT_TRUE(evicted().empty());
}

TEST_F(WorkerProgressTest, a_manager_that_stood_still_hears_first_how_far_they_have_come) {
  report();
  for (int i = 0; i < 4; ++i) second(kNothing);
  expect(Progress::kStuck, Routing::kDrain);
  now_ += Duration::minutes(10);
  EXPECT_TRUE(evicted().empty()) << "nobody has reported";
  second(kWell);
  expect(Progress::kNormal, Routing::kRoute);
  EXPECT_TRUE(evicted().empty());
}

TEST_F(WorkerProgressTest, a_report_that_waited_while_its_manager_stood_still_evicts_nobody) {
  report();
  for (int i = 0; i < 4; ++i) second(kNothing);
  now_ += Duration::minutes(10);
  second(kNothing);
  EXPECT_TRUE(evicted().empty()) << "it is of ten minutes ago, perhaps";
  second(kNothing);
  EXPECT_FALSE(evicted().empty());
}

TEST_F(WorkerProgressTest, reports_that_come_fast_are_put_together) {
  report();
  for (int i = 0; i < 8; ++i) {
    now_ += Duration::millis(100);
    ++report_.held[0].headway.could_turn;
    report();
  }
  expect(Progress::kIdle, Routing::kRoute);
  now_ += Duration::millis(100);
  report();
  expect(Progress::kDegraded, Routing::kInvestigate);
}

TEST_F(WorkerProgressTest, another_life_of_the_worker_begins_anew) {
  report();
  for (int i = 0; i < 70; ++i) second(kNothing);
  EXPECT_FALSE(evicted().empty());
  report_.life = 2;
  report();
  EXPECT_TRUE(evicted().empty());
  expect(Progress::kIdle, Routing::kRoute);
}

TEST_F(WorkerProgressTest, figures_that_fall_are_nothing_possible) {
  report_.held[0].headway = kWell;
  report();
  report_.held[0].headway = {};
  for (int i = 0; i < 10; ++i) second({});
  expect(Progress::kNormal, Routing::kRoute);
}

TEST_F(WorkerProgressTest, workers_that_say_nothing_of_it_are_believed) {
  report();
  for (int i = 0; i < 100; ++i) second({}, {});
  expect(Progress::kNormal, Routing::kRoute);
}

}  // namespace
}  // namespace bellwether::node
