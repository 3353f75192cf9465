// With which row of a data file an assignment goes on for one that was lost, or that hands over.
#include <gtest/gtest.h>

#include "jobs/dispatch/job_kernel.h"
#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

// Two workers, of which each has parts of ten iterations a second, after 5.5 s of load.
struct JobRows : testing::Test {
  JobWorld& at_work(bool open_model, uint32_t cores = 1, bool report_rows = true) {
    WorkflowSpec spec = load_spec("w", kMinute);
    spec.vus = 4;
    spec.takes_rows = true;
    spec.open_model = open_model;
    world_ = std::make_unique<JobWorld>(JobSpec{spec}, 1);
    for (const char* name : {"w1", "w2"}) world_->add(name, cores);
    world_->report_rows = report_rows;
    EXPECT_TRUE(world_->begins());
    live(Duration::millis(5'500) - (world_->now() - *world_->job().zero()));
    return *world_;
  }
  void live(Duration span) {
    for (const Instant end = world_->now() + span; world_->now() < end;) world_->step(Duration::millis(100));
  }
  // The last assignment that has begun, which has a part of another one.
  const AssignmentRecord& last() const {
    const AssignmentRecord& assignment = world_->record().assignments.back();
    EXPECT_GT(assignment.id.value(), 2u);
    EXPECT_TRUE(assignment.streams);
    return assignment;
  }
  const AssignmentRecord& of(const std::string& worker) const {
    for (const AssignmentRecord& one : world_->record().assignments) {
      if (one.worker == worker) return one;
    }
    return world_->record().assignments.front();
  }

  std::unique_ptr<JobWorld> world_;
};

TEST_F(JobRows, users_go_on_after_what_the_lost_ones_may_have_begun) {
  JobWorld& world = at_work(false);
  EXPECT_EQ(of("w1").rows, plan::RowPoint());
  world.die("w1");
  live(Duration::seconds(1));
  // Two users of the part, ten a second, 5 s reported; gone within 0.7 s, and half a second for the clocks.
  const plan::RowPoint first = last().rows;
  EXPECT_GE(first.rows, 50u + 2 + 10);
  EXPECT_LE(first.rows, 50u + 2 + 12);
  EXPECT_GT(first.at, Duration::millis(5'400));

  // And again, as another owner knows it: the rows add up.
  world.restart("w1");
  live(Duration::seconds(12));
  world.replace_owner();
  live(Duration::seconds(1));
  const uint64_t told = static_cast<uint64_t>((world.job().zero() ? world.now() - *world.job().zero() : Duration()) /
                                              Duration::seconds(1)) -
                        last().from;
  world.die("w2");
  live(Duration::seconds(1));
  EXPECT_EQ(last().worker, "w1");
  EXPECT_GE(last().rows.rows, first.rows + 10 * told);
  EXPECT_LE(last().rows.rows, first.rows + 10 * told + 2 + 12 + 10);
}

TEST_F(JobRows, of_a_part_that_has_reported_nothing_very_many_may_be_taken) {
  JobWorld& world = at_work(false);
  world.die("w1");
  live(Duration::seconds(1));
  const AssignmentId second = last().id;
  const uint64_t before = last().rows.rows;
  world.restart("w1");
  world.die("w2");
  live(Duration::seconds(13));
  EXPECT_GT(last().id.value(), second.value());
  EXPECT_GE(last().rows.rows, before + plan::kFirstPace / 2);
}

TEST_F(JobRows, arrivals_go_on_after_the_reported_ones_and_those_due_since) {
  JobWorld& world = at_work(true);
  world.die("w1");
  live(Duration::seconds(1));
  EXPECT_EQ(last().rows, (plan::RowPoint{50, Duration::seconds(5)})) << "its schedule adds the rest";
}

TEST_F(JobRows, of_a_worker_that_reports_no_rows_one_part_may_have_taken_all) {
  JobWorld& world = at_work(false, 2, false);
  world.die("w1");
  live(Duration::seconds(1));
  // 5 s of two parts, ten a second; then very many, as its pace is unknown, too.
  const plan::RowPoint& point = last().rows;
  const uint64_t then = plan::begun_within(0, plan::users_of_part(4, last().parts.of),
                                           point.at - Duration::seconds(5) + Duration::millis(500));  // clocks differ
  EXPECT_EQ(point.rows, 2 * 50 + then);
}

TEST_F(JobRows, of_arrivals_that_report_no_rows_the_schedule_tells_all) {
  JobWorld& world = at_work(true, 1, false);
  world.die("w1");
  live(Duration::seconds(1));
  EXPECT_EQ(last().rows, plan::RowPoint());
}

TEST_F(JobRows, a_part_that_moves_goes_on_after_all_that_it_may_take_until_then) {
  JobWorld& world = at_work(false);
  world.worker("w1").leaves = true;
  live(Duration::seconds(5));
  const AssignmentRecord& follower = last();
  ASSERT_NE(follower.follows, AssignmentId());
  const Duration until = Duration::seconds(static_cast<int64_t>(follower.from));
  EXPECT_EQ(follower.rows.at, until);
  EXPECT_GE(follower.rows.rows, 10 * follower.from);
  EXPECT_LE(follower.rows.rows, 10 * follower.from + 2 + 16);
}

}  // namespace
}  // namespace bellwether::dispatch
