// What a job records as lost where orders and ends cross each other.
#include <algorithm>
#include <array>
#include <gtest/gtest.h>

#include "jobs/dispatch/job_kernel.h"
#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

// The order to begin did not arrive before its owner died.
TEST(JobLosses, ALossUpToABeginThatDidNotArriveIsNotWrittenAgain) {
  AssignmentRecord lost = assignment_of(1, {0, 1, 1}, AssignmentState::kGone);
  lost.lost_from = Duration::seconds(10);
  AssignmentRecord next = assignment_of(2, {0, 1, 1}, AssignmentState::kRunning);
  next.from = 12;
  JobRecord record = running_record(1, {lost, next});
  const std::string cause = "worker 'w1' was lost, workflow 'browse'";
  record.losses = {{Duration::seconds(10), Duration::millis(12'300), 1, cause}};
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), record, Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(20), {{lost.id, 10}}, out);
  job.sighted(kAdopted, lost.worker, lost.life, {}, out);
  job.sighted(kAdopted, next.worker, next.life, {{.assignment = next.id, .phase = AssignmentPhase::kReady}}, out);
  EXPECT_EQ(job.record().assignments[1].from, 20u);
  ASSERT_EQ(job.record().losses.size(), 2u);
  EXPECT_EQ(job.record().losses[1], (plan::Loss{Duration::seconds(12), Duration::seconds(20), 1, cause}));
}

// Its only workflow failed long before its planned end.
TEST(JobLosses, ARestIsMissingToThePlannedEndUnlessTheJobWasStopped) {
  AssignmentRecord crashed = assignment_of(1, {0, 1, 1}, AssignmentState::kEnded);
  crashed.end = AssignmentEnd{AssignmentOutcome::kCrashed, "as the test says", 10, Duration::seconds(10)};
  for (const bool stopped : {false, true}) {
    JobRecord record = running_record(1, {crashed});
    record.workflows[0].state = WorkflowState::kFailed;
    record.losses = {{Duration::seconds(10), kMinute, 1, "failed, workflow 'browse'"}};
    if (stopped) record.stop = JobStop{JobStop::Cause::kThreshold, StopHow::kAtOnce, "", "a threshold failed"};
    JobKernel job({load_spec("browse", kMinute)}, JobRules(), record, Prng(1));
    JobEffects out;
    job.adopt(kAdopted, Duration::seconds(20), {{AssignmentId(1), 10}}, out);
    for (const std::string& worker : job.workers_to_ask()) job.sighted(kAdopted, worker, 1, {}, out);
    ASSERT_EQ(job.record().losses.size(), 1u);
    EXPECT_EQ(job.record().losses[0].to, stopped ? Duration::seconds(20) : kMinute);
    EXPECT_EQ(job.record().elapsed, Duration::seconds(20)) << "so long it ran";
  }
}

TEST(JobLosses, AWorkerWithoutRoomForMissingPartsSaysOnceWhy) {
  JobWorld world({load_spec("browse", kMinute)}, 7);
  world.add("w1", 2);
  world.add("w2", 2);
  ASSERT_TRUE(world.begins());
  world.worker("w2").busy = true;
  world.die("w1");
  ASSERT_TRUE(world.run(kMinute * 2));
  const auto& events = world.record().events;
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const JobEvent& one) {
                            return one.kind == "assignment_refused" && one.detail == "worker 'w2': as the test says";
                          }),
            1);
  ASSERT_EQ(world.record().losses.size(), 1u);
  EXPECT_EQ(world.record().losses[0].to, kMinute);
}

TEST(JobLosses, AWorkerThatCannotPrepareMissingPartsFailsNothingElse) {
  JobWorld world({load_spec("browse", kMinute)}, 7);
  world.add("w1", 2);
  world.add("w2", 2);
  ASSERT_TRUE(world.begins());
  world.worker("w2").breaks = true;
  world.die("w1");
  ASSERT_TRUE(world.run(kMinute * 2));
  EXPECT_EQ(world.record().workflows[0].state, WorkflowState::kCompleted);
  ASSERT_EQ(world.record().losses.size(), 1u);
  EXPECT_EQ(world.record().losses[0].to, kMinute);
}

// Two assignments run. An order to the first one crosses its end.
class JobLossesAtEnds : public testing::Test {
 protected:
  JobLossesAtEnds() {
    job.adopt(kAdopted, Duration::seconds(13), {{first.id, 10}, {AssignmentId(2), 12}}, out);
    for (const AssignmentRecord& one : std::vector(job.record().assignments)) {
      job.sighted(kAdopted, one.worker, one.life,
                  {{.assignment = one.id, .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(13)}}, out);
    }
  }
  void ends(AssignmentOutcome as, Duration ran) {
    job.ended(kAdopted + Duration::seconds(2), first.id, AssignmentEnd{as, "as the test says", 10, ran}, out);
  }
  const AssignmentRecord first = assignment_of(1, {0, 1, 2}, AssignmentState::kRunning);
  JobKernel job{{load_spec("browse", kMinute)},
                JobRules(),
                running_record(2, {first, assignment_of(2, {1, 1, 2}, AssignmentState::kRunning)}),
                Prng(1)};
  JobEffects out;
};
struct EndBeforeStop {
  AssignmentOutcome as;
  Duration ran;
  std::string_view cause;
};
constexpr std::array kEndsBeforeStop{
    EndBeforeStop{AssignmentOutcome::kIsolated, Duration::seconds(10), "worker 'w1' was lost, workflow 'browse'"},
    EndBeforeStop{AssignmentOutcome::kLeft, Duration::seconds(10), "worker 'w1' left, workflow 'browse'"},
    EndBeforeStop{AssignmentOutcome::kKilled, Duration::seconds(15), "worker 'w1' lost its process, workflow 'browse'"},
    EndBeforeStop{AssignmentOutcome::kLost, Duration::seconds(15),
                  "worker 'w1' lost the process of an assignment, workflow 'browse'"}};

class JobLossesBeforeStop : public JobLossesAtEnds, public testing::WithParamInterface<EndBeforeStop> {};
INSTANTIATE_TEST_SUITE_P(All, JobLossesBeforeStop, testing::ValuesIn(kEndsBeforeStop));

TEST_P(JobLossesBeforeStop, WhatEndedBeforeItsWorkflowWasCancelledIsMissingUntilThen) {
  job.stop(kAdopted, {JobStop::Cause::kCancelled, StopHow::kAtOnce, "ann", "enough"}, {0}, out);
  ASSERT_EQ(job.record().losses.size(), 1u);
  ends(GetParam().as, GetParam().ran);
  ASSERT_EQ(job.record().losses.size(), 2u);
  EXPECT_EQ(job.record().losses[1],
            (plan::Loss{Duration::seconds(10), Duration::seconds(13), 0.5, std::string(GetParam().cause)}));
}

TEST_P(JobLossesBeforeStop, WhatEndedBeforeItsJobWasStoppedIsMissingUntilThen) {
  job.stop(kAdopted, {JobStop::Cause::kCancelled, StopHow::kGraceful, "ann", "enough"}, {}, out);
  ends(GetParam().as, GetParam().ran);
  ASSERT_EQ(job.record().losses.size(), 1u);
  EXPECT_EQ(job.record().losses[0].from, Duration::seconds(10));
  EXPECT_EQ(job.record().losses[0].to, Duration::seconds(13));
}

TEST_F(JobLossesAtEnds, WhatTheStopEndsMissesNothing) {
  job.stop(kAdopted, {JobStop::Cause::kCancelled, StopHow::kGraceful, "ann", "enough"}, {}, out);
  ends(AssignmentOutcome::kStopped, Duration::seconds(10));
  EXPECT_TRUE(job.record().losses.empty());
}

TEST_F(JobLossesAtEnds, AnEndThatCrossesAnEvictionLeavesItsPartsToOthers) {
  job.evicted(kAdopted, first.id, "stuck for 60 s", out);
  ends(AssignmentOutcome::kIsolated, Duration::seconds(10));
  EXPECT_EQ(job.find(first.id)->state, AssignmentState::kGone);
  EXPECT_EQ(job.find(first.id)->lost_from, Duration::seconds(10));
  EXPECT_EQ(job.record().workflows[0].state, WorkflowState::kRetrying);
}

}  // namespace
}  // namespace bellwether::dispatch
