// What a new owner does before the workers have told it what they run: the owner before may have begun assignments
// without a record that says so.
#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <vector>

#include "jobs/dispatch/job_kernel.h"
#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

// Two assignments are ready to begin for the first time.
class JobNewOwner : public testing::Test {
 protected:
  JobNewOwner() {
    job.adopt(kAdopted, Duration::zero(), {}, out);
    is_ready(1);
  }
  static JobRecord ready_record() {
    JobRecord record = running_record(2, {assignment_of(1, {0, 1, 2}, AssignmentState::kReady, false),
                                          assignment_of(2, {1, 1, 2}, AssignmentState::kReady, false)});
    record.state = JobState::kDispatching;
    record.started = {};
    record.workflows[0].state = WorkflowState::kAssigned;
    record.workflows[0].begun = false;
    record.witnesses = {{"w1", 1}};
    return record;
  }
  void is_ready(uint32_t id) {
    job.sighted(kAdopted, "w" + std::to_string(id), 1,
                {{.assignment = AssignmentId(id), .phase = AssignmentPhase::kReady}}, out);
  }
  std::vector<AssignmentId> begun() const {
    std::vector<AssignmentId> found;
    for (const JobEffect& one : out) {
      if (const auto* begin = std::get_if<job_effect::Begin>(&one)) found.push_back(begin->assignment);
    }
    return found;
  }
  JobKernel job{{load_spec("browse", kMinute)}, JobRules(), ready_record(), Prng(1)};
  JobEffects out;
  const Instant later = kAdopted + Duration::seconds(8);  // than the owner waits for answers
};

TEST_F(JobNewOwner, BeginsAGroupWhenAllItsWorkersHaveAnswered) {
  job.tick(later, out);
  EXPECT_TRUE(begun().empty()) << "w2 may have begun";
  EXPECT_GT(job.wake(), later);
  is_ready(2);
  EXPECT_EQ(begun().size(), 2u);
}

TEST_F(JobNewOwner, TakesTheClockOfTheRunAlsoFromAWorkerThatAnswersLate) {
  job.tick(later, out);
  job.sighted(later, "w2", 1,
              {{.assignment = AssignmentId(2), .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(9)}},
              out);
  job.tick(later, out);
  EXPECT_EQ(job.zero(), later - Duration::seconds(9));
  EXPECT_EQ(job.record().state, JobState::kRunning);
  EXPECT_EQ(job.find(AssignmentId(2))->from, 0u);
  EXPECT_EQ(begun(), std::vector{AssignmentId(1)});
  ASSERT_EQ(job.record().losses.size(), 1u);
  EXPECT_EQ(job.record().losses[0].to, Duration::seconds(9));
  EXPECT_DOUBLE_EQ(job.record().losses[0].ratio, 0.5);
}

TEST_F(JobNewOwner, GivesNothingToOthersThatMayHaveBegun) {
  job.tick(later, out);
  job.workers_changed(later, {{.name = "w2", .life = 1, .cores = 1, .heard = later}}, out);
  job.worker_gone(later, "w1", 1, "its process has ended", out);
  EXPECT_TRUE(is_live(*job.find(AssignmentId(2)))) << "the group is not cut anew";
  job.sighted(later, "w2", 1,
              {{.assignment = AssignmentId(2), .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(9)}},
              out);
  EXPECT_EQ(job.find(AssignmentId(2))->state, AssignmentState::kRunning);
}

TEST_F(JobNewOwner, KnowsThatAWorkflowRunsAlsoIfAllItsWorkersAnswerLate) {
  JobRecord record = ready_record();
  record.assignments = {assignment_of(1, {0, 1, 1}, AssignmentState::kReady, false)};
  record.workflows[0].parts = 1;
  JobKernel of_one({load_spec("browse", kMinute)}, JobRules(), record, Prng(1));
  of_one.adopt(kAdopted, Duration::zero(), {}, out);
  of_one.tick(later, out);
  of_one.sighted(later, "w1", 1,
                 {{.assignment = AssignmentId(1), .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(9)}},
                 out);
  EXPECT_EQ(of_one.record().workflows[0].state, WorkflowState::kRunning);
}

// A fenced one would be gone after its `isolation_limit`.
TEST_F(JobNewOwner, FailsAWorkflowThatASilentWorkerWithoutPermitsMayHaveBegun) {
  JobRecord record = ready_record();
  record.assignments = {assignment_of(1, {0, 1, 1}, AssignmentState::kReady, false)};
  record.assignments[0].unfenced = true;
  record.workflows[0].parts = 1;
  JobKernel of_one({load_spec("browse", kMinute)}, JobRules(), record, Prng(1));
  of_one.adopt(kAdopted, Duration::zero(), {}, out);
  const auto state_at = [&](int64_t second) {
    of_one.tick(kAdopted + Duration::seconds(second), out);
    return of_one.record().workflows[0].state;
  };
  for (int64_t second = 0; second < 300; ++second) ASSERT_EQ(state_at(second), WorkflowState::kAssigned);
  EXPECT_EQ(state_at(300), WorkflowState::kFailed);
  EXPECT_FALSE(is_live(*of_one.find(AssignmentId(1)))) << "the job does not wait for it";
  EXPECT_TRUE(std::ranges::any_of(out, [](const JobEffect& one) {
    return std::holds_alternative<job_effect::Stop>(one);
  })) << "it may come back";
}

// This manager did not hear the worker since it was restarted, and the owner before did.
TEST(JobNewOwnerOfRunning, BelievesTheRecordRatherThanAReportFromBeforeItTookOver) {
  JobKernel job({load_spec("browse", kMinute)}, JobRules(),
                running_record(1, {assignment_of(1, {0, 1, 1}, AssignmentState::kRunning)}), Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(13), {{AssignmentId(1), 10}}, out);
  job.sighted(kAdopted, "w1", 1,
              {{.assignment = AssignmentId(1), .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(13)}},
              out);
  const auto is_heard = [&](uint64_t life, Instant at) {
    job.workers_changed(kAdopted + Duration::seconds(2), {{.name = "w1", .life = life, .cores = 1, .heard = at}}, out);
    return is_live(*job.find(AssignmentId(1)));
  };
  EXPECT_TRUE(is_heard(7, kAdopted - Duration::seconds(1)));
  EXPECT_TRUE(is_heard(1, kAdopted + Duration::seconds(1)));
  EXPECT_FALSE(is_heard(8, kAdopted + Duration::seconds(2))) << "now it was restarted";
}

// The owner dies with the order of the second cancellation. What is lost depends on the first one.
TEST(JobNewOwnerOfRunning, StopsAtOnceWhatWasCancelledAtOnceAfterAGracefulCancellation) {
  std::optional<StopHow> ordered;
  JobRecord record = running_record(1, {assignment_of(1, {0, 1, 1}, AssignmentState::kRunning)});
  for (const auto& cancellations : std::vector<std::vector<StopHow>>{{StopHow::kGraceful}, {StopHow::kAtOnce}, {}}) {
    ordered.reset();
    JobEffects out;
    JobKernel job({load_spec("browse", kMinute)}, JobRules(), record, Prng(1));
    job.adopt(kAdopted, Duration::seconds(13), {{AssignmentId(1), 13}}, out);
    job.sighted(kAdopted, "w1", 1,
                {{.assignment = AssignmentId(1), .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(13)}},
                out);
    for (const StopHow how : cancellations)
      job.stop(kAdopted, {JobStop::Cause::kCancelled, how, "ann", "enough"}, {0}, out);
    record = job.record();
    job.kept(kAdopted, record.revision, out);
    for (const JobEffect& one : out) {
      if (const auto* stop = std::get_if<job_effect::Stop>(&one)) ordered = stop->how;
    }
  }
  EXPECT_EQ(ordered, StopHow::kAtOnce);
  EXPECT_TRUE(record.workflows[0].graceful);
}

// Parts of a workflow have nobody who runs them, and then the workflow is cancelled.
TEST(JobGroups, wait_for_nothing_when_a_workflow_with_missing_parts_has_ended) {
  for (const bool whole_job : {false, true}) {
    JobWorld world({load_spec("browse", Duration::minutes(10)), load_spec("pay", Duration::minutes(20))}, 7);
    world.add("w1", 2);
    world.add("w2", 2);
    ASSERT_TRUE(world.begins());
    world.worker("w2").busy = true;
    world.die("w1");
    for (int i = 0; i < 50; ++i) world.step(kStep);
    JobEffects out;
    const JobStop stop{JobStop::Cause::kThreshold, StopHow::kGraceful, "", "as the test says"};
    // Its workers take as long to end as they want.
    world.worker("w2").silent = whole_job;
    world.job().stop(world.now(), stop, whole_job ? std::set<uint16_t>{} : std::set<uint16_t>{0}, out);
    if (!whole_job) world.carry_out(out);
    for (int i = 0; i < 3'200; ++i) {
      world.step(kStep);
      ASSERT_TRUE(world.job().over() || world.job().wake() > world.now()) << "step " << i;
    }
  }
}

// Its missing parts are tried as long as others run, and the time without any load counts from the last of them on.
TEST(JobGroups, a_workflow_goes_on_when_room_comes_back_within_the_limit_after_its_last_part) {
  JobWorld world({load_spec("browse", Duration::minutes(15))}, 7);
  world.add("w1", 8);
  world.add("w2", 1);  // has room for three of the eight
  ASSERT_TRUE(world.begins());
  world.die("w1");
  for (int i = 0; i < 4'000; ++i) world.step(kStep);
  world.die("w2");
  for (int i = 0; i < 2'900; ++i) world.step(kStep);
  world.add("w3", 9);
  expect_end(world, Duration::minutes(15));
}

TEST(JobGroups, a_workflow_ends_when_nothing_of_it_has_run_for_the_limit) {
  JobWorld world({load_spec("browse", Duration::minutes(15))}, 7);
  world.add("w1", 2);
  ASSERT_TRUE(world.begins());
  world.die("w1");
  EXPECT_FALSE(world.run(Duration::seconds(299)));
  expect_end(world, Duration::seconds(3), JobState::kFailed);
}

}  // namespace
}  // namespace bellwether::dispatch
