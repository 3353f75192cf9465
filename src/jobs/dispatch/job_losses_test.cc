// What a job records as lost where orders and ends cross each other.
#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <optional>

#include "core/base/cases_testing.h"
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

// It runs until it is stopped, or until its iterations are done.
TEST(JobLosses, ARestIsMissingToTheEndOfTheRunIfNoEndIsPlanned) {
  constexpr Duration kLimit = Duration::hours(24 * 366);
  AssignmentRecord crashed = assignment_of(1, {0, 1, 1}, AssignmentState::kEnded);
  crashed.end = AssignmentEnd{AssignmentOutcome::kCrashed, "as the test says", 10, Duration::seconds(10)};
  for (const bool counted : {false, true}) {
    JobRecord record = running_record(1, {crashed});
    record.workflows[0].state = WorkflowState::kFailed;
    record.losses = {{Duration::seconds(10), kLimit, 1, "failed, workflow 'browse'"}};
    WorkflowSpec spec = load_spec("browse", kLimit);
    spec.endless = !counted;
    if (counted) spec.counted.emplace();
    JobKernel job({spec}, JobRules(), record, Prng(1));
    JobEffects out;
    job.adopt(kAdopted, Duration::seconds(20), {{AssignmentId(1), 10}}, out);
    for (const std::string& worker : job.workers_to_ask()) job.sighted(kAdopted, worker, 1, {}, out);
    ASSERT_EQ(job.record().losses.size(), 1u);
    EXPECT_EQ(job.record().losses[0].to, Duration::seconds(20));
  }
}

// Its only other worker refuses the parts of the one that dies.
class JobLossesOfRefused : public testing::Test {
 protected:
  void lose_w1(bool TestWorker::*refuses) {
    world.add("w1", 2);
    world.add("w2", 2);
    ASSERT_TRUE(world.begins());
    world.worker("w2").*refuses = true;
    world.die("w1");
    ASSERT_TRUE(world.run(kMinute * 2));
    ASSERT_EQ(world.record().losses.size(), 1u);
    EXPECT_EQ(world.record().losses[0].to, kMinute);
  }
  JobWorld world{{load_spec("browse", kMinute)}, 7};
};

TEST_F(JobLossesOfRefused, AWorkerWithoutRoomForMissingPartsSaysOnceWhy) {
  lose_w1(&TestWorker::busy);
  EXPECT_EQ(std::ranges::count_if(world.record().events,
                                  [](const JobEvent& one) {
                                    return one.kind == "assignment_refused" &&
                                           one.detail == "worker 'w2': as the test says";
                                  }),
            1);
}

TEST_F(JobLossesOfRefused, AWorkerThatCannotPrepareMissingPartsFailsNothingElse) {
  lose_w1(&TestWorker::breaks);
  EXPECT_EQ(world.record().workflows[0].state, WorkflowState::kCompleted);
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
    EndBeforeStop{AssignmentOutcome::kKilled, Duration::seconds(18), "worker 'w1' lost its process, workflow 'browse'"},
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

// Two of its answers are about its cores, and one is about its disk.
TEST_F(JobLossesAtEnds, AWorkerThatRefusesMissingPartsSaysEachReasonOnce) {
  job.worker_gone(kAdopted, first.worker, first.life, "its process has ended", out);
  Instant at = kAdopted;
  for (const std::string why : {"no core is free", "no core is free", "its disk is full"}) {
    at = at + Duration::seconds(1);
    job.workers_changed(
        at, {{.name = "w2", .life = 1, .cores = 2, .free = 1, .takes_work = true, .permits = true, .heard = at}}, out);
    job.offered(at, AssignmentId(job.record().last_assignment), OfferAnswer::kBusy, why, out);
  }
  ASSERT_EQ(job.record().last_assignment, 5u);
  std::vector<std::string> told;
  for (const JobEvent& event : job.record().events) {
    if (event.kind == "assignment_refused") told.push_back(event.detail);
  }
  EXPECT_EQ(told, (std::vector<std::string>{"worker 'w2': no core is free", "worker 'w2': its disk is full"}));
}

// Its worker, or the owner, was out of reach meanwhile.
TEST_F(JobLossesAtEnds, ACrashThatItsOwnerHearsOfLateIsMissingSinceTheLastReport) {
  ends(AssignmentOutcome::kCrashed, Duration::seconds(10));
  const std::string crashed = "worker 'w1' lost its process, workflow 'browse'";
  EXPECT_EQ(job.record().losses,
            (std::vector<plan::Loss>{{Duration::seconds(10), Duration::seconds(15), 0.5, crashed},
                                     {Duration::seconds(15), kMinute, 1, "failed, workflow 'browse'"}}));
}

// An owner before this one has stopped the job, and all managers were away meanwhile.
TEST(JobLosses, WhatWasKilledBecauseItDidNotStopIsMissingUntilTheOrder) {
  JobRecord record = running_record(1, {assignment_of(1, {0, 1, 1}, AssignmentState::kStopping)});
  record.stop = JobStop{JobStop::Cause::kThreshold, StopHow::kAtOnce, {}, "a threshold failed"};
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), record, Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(18), {{AssignmentId(1), 11}}, out);
  const AssignmentEnd end{AssignmentOutcome::kKilled, "did not stop", 11, Duration::seconds(12)};
  job.sighted(
      kAdopted, "w1", 1,
      {{.assignment = AssignmentId(1), .phase = AssignmentPhase::kEnded, .clock = Duration::seconds(18), .end = end}},
      out);
  EXPECT_EQ(job.find(AssignmentId(1))->state, AssignmentState::kEnded);
  EXPECT_TRUE(job.record().losses.empty());
}

// Iterations that do not begin after a stop are no loss. Those that a killed process did not report before it are.
TEST(JobLosses, IterationsThatAKilledProcessDidNotReportBeforeItsJobWasStoppedAreMissing) {
  for (const auto as : {AssignmentOutcome::kStopped, AssignmentOutcome::kLost}) {
    WorkflowSpec spec = load_spec("browse", kMinute);
    spec.counted = plan::Iterations{.vus = 2, .iterations = 20'000};
    const AssignmentRecord runs = assignment_of(1, {0, 1, 1}, AssignmentState::kRunning);
    JobKernel job({spec}, JobRules(), running_record(1, {runs}), Prng(1));
    JobEffects out;
    job.adopt(kAdopted, Duration::seconds(13), {{runs.id, 10}}, out);
    job.sighted(kAdopted, runs.worker, runs.life,
                {{.assignment = runs.id, .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(13)}}, out);
    job.stop(kAdopted, {JobStop::Cause::kCancelled, StopHow::kAtOnce, "ann", "enough"}, {}, out);
    job.ended(kAdopted + Duration::seconds(1), runs.id, AssignmentEnd{as, "killed", 10, Duration::seconds(14)}, out);
    std::vector<plan::Loss> missing;
    if (as == AssignmentOutcome::kLost) {
      missing = {{Duration::seconds(10), Duration::seconds(13), 1,
                  "worker 'w1' lost the process of an assignment, workflow 'browse'"}};
    }
    EXPECT_EQ(job.record().losses, missing);
  }
}

// --- the rest of a workflow that was cancelled ----------------------------------------------------------------------

const JobStop kEnough{JobStop::Cause::kCancelled, StopHow::kAtOnce, "ann", "enough"};

plan::Loss rest_from(int64_t second, double ratio = 1) {
  return {Duration::seconds(second), kMinute, ratio, "cancelled, workflow 'browse'"};
}

// The record with the cancellation was kept late, and the workers went on until then.
TEST_F(JobLossesAtEnds, TheRestOfACancelledWorkflowBeginsWhereItsWorkersStopped) {
  job.stop(kAdopted, kEnough, {0}, out);
  job.kept(kAdopted + Duration::seconds(7), job.record().revision, out);
  job.applied(kAdopted + Duration::seconds(8), first.id, 20, out);
  ends(AssignmentOutcome::kStopped, Duration::seconds(20));
  EXPECT_EQ(job.record().losses, (std::vector{rest_from(13, 0.5), rest_from(20, 0.5)}));
  job.applied(kAdopted + Duration::seconds(8), AssignmentId(2), 20, out);
  job.ended(kAdopted + Duration::seconds(8), AssignmentId(2),
            AssignmentEnd{AssignmentOutcome::kStopped, {}, 20, Duration::millis(20'400)}, out);
  ASSERT_EQ(job.record().losses.size(), 1u);
  EXPECT_EQ(job.record().losses[0].from, Duration::seconds(20));
  EXPECT_DOUBLE_EQ(job.record().losses[0].ratio, 1);
}

// Its running iterations end, and none begins.
TEST_F(JobLossesAtEnds, TheRestOfAGracefullyCancelledWorkflowBeginsWithTheOrder) {
  job.stop(kAdopted, {JobStop::Cause::kCancelled, StopHow::kGraceful, "ann", "enough"}, {0}, out);
  job.kept(kAdopted, job.record().revision, out);
  EXPECT_TRUE(job.record().workflows[0].graceful) << "for the next owner";
  ends(AssignmentOutcome::kStopped, Duration::seconds(17));
  EXPECT_EQ(job.record().losses, std::vector{rest_from(13)});
}

TEST_F(JobLossesAtEnds, ACancellationAtOnceEndsWhatAGracefulOneLetsFinish) {
  job.stop(kAdopted, {JobStop::Cause::kCancelled, StopHow::kGraceful, "ann", "enough"}, {0}, out);
  job.kept(kAdopted, job.record().revision, out);
  for (const bool again : {true, false}) {
    out.clear();
    job.stop(kAdopted, again ? kEnough : JobStop{JobStop::Cause::kCancelled, StopHow::kGraceful, "ann", "enough"}, {0},
             out);
    job.kept(kAdopted, job.record().revision, out);
    EXPECT_EQ(std::ranges::count_if(out,
                                    [](const JobEffect& one) {
                                      const auto* stop = std::get_if<job_effect::Stop>(&one);
                                      return stop != nullptr && stop->how == StopHow::kAtOnce;
                                    }),
              again ? 2 : 0);
  }
}

TEST_F(JobLossesAtEnds, AnOrderToStopThatComesLateDoesNotLengthenALossThatTheCancellationEnds) {
  job.stop(kAdopted, kEnough, {0}, out);
  job.kept(kAdopted + Duration::seconds(7), job.record().revision, out);
  ends(AssignmentOutcome::kIsolated, Duration::seconds(10));
  ASSERT_EQ(job.record().losses.size(), 2u);
  EXPECT_EQ(job.record().losses[0], rest_from(13));
  EXPECT_EQ(job.record().losses[1].from, Duration::seconds(10));
  EXPECT_EQ(job.record().losses[1].to, Duration::seconds(13));
}

TEST_F(JobLossesAtEnds, AWorkerThatDiesAfterACancellationThatItDidNotHearIsMissingFromItsLastReportOn) {
  job.stop(kAdopted, kEnough, {0}, out);
  job.applied(kAdopted + Duration::seconds(5), first.id, 17, out);
  job.worker_gone(kAdopted + Duration::seconds(6), first.worker, first.life, "its process has ended", out);
  EXPECT_EQ(job.record().losses, (std::vector{rest_from(13, 0.5), rest_from(17, 0.5)}));
}

// The one before it had confirmed its hand-over, and was stopped with the workflow.
TEST(JobLosses, AFollowerThatIsStoppedBeforeItsTimeShortensNoRest) {
  AssignmentRecord from = assignment_of(1, {0, 1, 1}, AssignmentState::kEnded);
  from.handed_over = true;
  AssignmentRecord follower = assignment_of(2, {0, 1, 1}, AssignmentState::kStopping);
  follower.follows = from.id;
  from.until = follower.from = 20;
  JobBook book({load_spec("browse", kMinute)}, JobRules(), running_record(1, {from, follower}));
  book.record.workflows[0].state = WorkflowState::kCancelled;
  book.record.losses = {rest_from(15)};
  book.fit_rest(follower, Duration::seconds(20));
  EXPECT_EQ(book.record.losses, std::vector{rest_from(15)});
  book.fit_rest(follower, Duration::seconds(22));
  EXPECT_EQ(book.record.losses, std::vector{rest_from(22)});
}

// It had confirmed its hand-over at second 20, and the workflow is cancelled in second 13.
TEST(JobLosses, WhatWasCutOffBeforeItsHandOverIsMissingUntilItsWorkflowWasCancelled) {
  AssignmentRecord from = assignment_of(1, {0, 1, 1}, AssignmentState::kRunning);
  from.handed_over = true;
  from.lost_from = Duration::seconds(20);
  AssignmentRecord follower = assignment_of(2, {0, 1, 1}, AssignmentState::kRunning);
  follower.follows = from.id;
  from.until = follower.from = 20;
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), running_record(1, {from, follower}), Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(13), {{from.id, 10}}, out);
  for (const AssignmentRecord& one : {from, follower}) {
    job.sighted(kAdopted, one.worker, one.life,
                {{.assignment = one.id, .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(13)}}, out);
  }
  job.stop(kAdopted, kEnough, {0}, out);
  job.ended(kAdopted + Duration::seconds(2), from.id,
            AssignmentEnd{AssignmentOutcome::kIsolated, "as the test says", 10, Duration::seconds(10)}, out);
  const std::string cause = "worker 'w1' was lost, workflow 'browse'";
  EXPECT_EQ(job.record().losses,
            (std::vector<plan::Loss>{rest_from(13), {Duration::seconds(10), Duration::seconds(13), 1, cause}}));
}

// Its second owner cancelled it by a wall clock that was ahead, and died before it knew better, or told anybody.
class JobLossesOfThirdOwner : public testing::Test {
 protected:
  void adopt(std::vector<plan::Loss> losses, bool graceful = false, std::optional<JobStop> stop = std::nullopt) {
    AssignmentRecord other = assignment_of(2, {0, 1, 1}, AssignmentState::kRunning);
    other.workflow = 1;
    JobRecord record = running_record(1, {assignment_of(1, {0, 1, 1}, AssignmentState::kStopping), other});
    record.workflows.push_back(record.workflows[0]);
    record.workflows[0].state = WorkflowState::kCancelled;
    record.workflows[0].why = "enough";
    record.workflows[0].graceful = graceful;
    record.stop = std::move(stop);
    record.losses = std::move(losses);
    record.events = {{Duration::seconds(3), "scaled", {}}, {Duration::seconds(50), "workflow_stopping", {}}};
    job.emplace(JobSpec{load_spec("browse", kMinute), load_spec("pay", kMinute)}, JobRules(), record, Prng(1));
    job->adopt(kAdopted, Duration::seconds(30), {{AssignmentId(1), 30}, {other.id, 30}}, out);
    for (const AssignmentRecord& one : std::vector(job->record().assignments)) {
      job->sighted(kAdopted, one.worker, one.life,
                   {{.assignment = one.id, .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(30)}}, out);
    }
    job->kept(kAdopted, job->record().revision, out);
  }
  std::optional<StopHow> ordered() const {
    for (const JobEffect& one : out) {
      const auto* stop = std::get_if<job_effect::Stop>(&one);
      if (stop != nullptr && stop->assignment == AssignmentId(1)) return stop->how;
    }
    return std::nullopt;
  }
  void stops() {
    job->ended(kAdopted + Duration::seconds(1), AssignmentId(1),
               AssignmentEnd{AssignmentOutcome::kStopped, {}, 30, Duration::seconds(30)}, out);
  }
  std::optional<JobKernel> job;
  JobEffects out;
};

TEST_F(JobLossesOfThirdOwner, StopsWhatRunsAndNamesWhatIsMissing) {
  adopt({rest_from(50)});
  EXPECT_EQ(ordered(), StopHow::kAtOnce);
  stops();
  ASSERT_EQ(job->record().losses.size(), 2u);
  EXPECT_EQ(job->record().losses[1].from, Duration::seconds(30));
  EXPECT_EQ(job->record().losses[1].to, Duration::seconds(50));
}

TEST_F(JobLossesOfThirdOwner, NamesWhatIsMissingAlsoWhenTheClockOfTheSecondOneSaidThatNothingWasLeft) {
  adopt({});
  stops();
  EXPECT_EQ(job->record().losses, std::vector{rest_from(30)});
}

TEST_F(JobLossesOfThirdOwner, LetsIterationsFinishIfTheCancellationWasGraceful) {
  adopt({rest_from(28)}, true);
  EXPECT_EQ(ordered(), StopHow::kGraceful);
  job->applied(kAdopted, AssignmentId(1), 33, out);
  job->ended(kAdopted + Duration::seconds(4), AssignmentId(1),
             AssignmentEnd{AssignmentOutcome::kStopped, {}, 33, Duration::seconds(33)}, out);
  EXPECT_EQ(job->record().losses, std::vector{rest_from(28)}) << "nothing began after the cancellation";
}

TEST_F(JobLossesOfThirdOwner, StopsAtOnceWhatTheWholeJobStopsAtOnce) {
  adopt({rest_from(28)}, true, kEnough);
  EXPECT_EQ(ordered(), StopHow::kAtOnce);
}

TEST_F(JobLossesOfThirdOwner, LetsNothingFinishThatWasCancelledAtOnceBeforeTheJobWasStoppedGracefully) {
  adopt({rest_from(28)}, false, JobStop{JobStop::Cause::kThreshold, StopHow::kGraceful, "", "a threshold failed"});
  EXPECT_EQ(ordered(), StopHow::kAtOnce);
}

TEST_F(JobLossesOfThirdOwner, LeavesNoEventInTheFuture) {
  adopt({rest_from(50)});
  EXPECT_EQ(job->record().events[0].at, Duration::seconds(3));
  EXPECT_EQ(job->record().events[1].at, Duration::seconds(30));
}

// Its clock is not certain when the workflow is cancelled, and then says the same.
TEST(JobLosses, WhatAFullListHasMergedIsNotMergedAgainByTheClockOfTheRun) {
  AssignmentRecord lost = assignment_of(1, {0, 1, 4}, AssignmentState::kGone);
  lost.lost_from = Duration::seconds(9);
  JobRecord record = running_record(4, {lost, assignment_of(2, {1, 3, 4}, AssignmentState::kRunning)});
  record.workflows[0].state = WorkflowState::kCancelled;
  record.losses.assign(kMaxLosses, {Duration::zero(), Duration::seconds(1), 0.1, "worker 'w9' was lost"});
  JobBook book({load_spec("browse", kMinute)}, JobRules(), record);
  book.zero = kAdopted - kMinute;
  book.adopting = true;
  book.lose_rest(kAdopted, 0);
  book.settle_clock(kAdopted);
  ASSERT_EQ(book.record.losses.size(), kMaxLosses);
  EXPECT_EQ(book.record.losses.back().to, kMinute);
  EXPECT_DOUBLE_EQ(book.record.losses.back().ratio, 0.25);
}

// Of a workflow that is cancelled while workers and owners die, are cut off, and no quorum writes records.
struct Account {
  uint64_t measured = 0;
  uint64_t twice = 0;
  double lost = 0;
};
Account account_of(const JobWorld& world, uint16_t workflow, const std::string& name) {
  Account sum;
  for (const auto& part : world.measured(workflow)) {
    sum.measured += part.seconds;
    sum.twice += part.twice;
  }
  for (const plan::Loss& loss : world.record().losses) {
    if (!loss.cause.ends_with(", workflow '" + name + "'")) continue;
    sum.lost += (loss.to - loss.from).seconds_f() * loss.ratio * world.record().workflows[workflow].parts;
  }
  return sum;
}

// The other workflow goes on, so that the run lasts until the planned end of the cancelled one.
TEST(JobLosses, WhatIsMeasuredAndWhatIsLostOfACancelledWorkflowIsWhatWasPlanned) {
  uint64_t cancelled = 0;
  for (uint64_t seed = 1; seed <= cases(100); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    const Duration length = Duration::seconds(prng.between(20, 60));
    JobWorld world({load_spec("browse", length), load_spec("pay", kMinute * 2)}, seed);
    const uint64_t workers = 2 + prng.below(3);
    for (uint64_t i = 0; i < workers; ++i) world.add("w" + std::to_string(i), 2);
    ASSERT_TRUE(world.begins());
    const uint64_t from = prng.below(600);
    for (uint64_t i = 0; i < 20'000 && !world.job().over(); ++i) {
      world.step(kStep);
      // A client asks until a quorum knows.
      if (i >= from && i % 20 == from % 20 && !is_final(world.record().workflows[0].state)) {
        JobEffects out;
        world.job().stop(world.now(), kEnough, {0}, out);
        world.carry_out(out);
      }
      if (i > 800) continue;
      const std::string name = "w" + std::to_string(prng.below(workers));
      if (prng.chance(0.005)) world.worker(name).silent = !world.worker(name).silent;
      if (prng.chance(0.001) && world.worker(name).alive) world.die(name);
      if (prng.chance(0.005)) world.restart(name);
      if (prng.chance(0.005)) world.replace_owner();
      if (prng.chance(0.02)) world.register_stands = !world.register_stands;
    }
    world.register_stands = true;
    for (auto& [name, worker] : world.workers()) worker.silent = false;
    ASSERT_TRUE(world.run(Duration::hours(2)));
    const WorkflowRecord& one = world.record().workflows[0];
    // What comes after the end of the run is no loss.
    if (one.state != WorkflowState::kCancelled || world.record().elapsed < length) continue;
    ++cancelled;
    const Account sum = account_of(world, 0, "browse");
    EXPECT_EQ(sum.twice, 0u);
    // Of each second in which an assignment began or ended, a part may be missing.
    const double slack = 3.0 * one.parts * (1 + one.retries);
    EXPECT_NEAR(static_cast<double>(sum.measured) + sum.lost, length.seconds_f() * one.parts, slack);
    if (HasFailure()) break;
  }
  EXPECT_GT(cancelled, cases(100) / 10);
}

}  // namespace
}  // namespace bellwether::dispatch
