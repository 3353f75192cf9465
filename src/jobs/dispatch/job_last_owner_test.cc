// The state after the death of an owner between two of its actions.
#include <algorithm>

#include "jobs/dispatch/job_groups.h"
#include "jobs/dispatch/job_kernel.h"
#include "jobs/dispatch/job_pool.h"
#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

// Two users share 20,000 iterations.
WorkflowSpec counted_spec() {
  WorkflowSpec spec = load_spec("browse", kMinute);
  spec.vus = 2;
  spec.counted = plan::Iterations{.vus = 2, .iterations = 20'000};
  return spec;
}
AssignmentRecord ended_assignment(uint32_t id, PartRange parts, uint64_t from = 0) {
  AssignmentRecord assignment = assignment_of(id, parts, AssignmentState::kRunning);
  assignment.from = from;
  assignment.end = AssignmentEnd{AssignmentOutcome::kCompleted, {}, 10 - from, Duration::seconds(10)};
  return assignment;
}

// The register has the end of an assignment, but not yet that all of it is counted; the ingest's copy has that.
TEST(JobLastOwner, AnAssignmentThatHadAllButEndedWithItsOwnerIsNotAskedForAgain) {
  const JobRecord record = running_record(1, {ended_assignment(1, {0, 1, 1})});
  JobKernel job({load_spec("browse", Duration::seconds(10))}, JobRules(), record, Prng(1));
  JobEffects out;
  job.adopt(Instant::from_ns(20'000'000'000), Duration::seconds(15), {{AssignmentId(1), 10}}, out);
  EXPECT_TRUE(job.workers_to_ask().empty());
  EXPECT_EQ(job.record().assignments[0].state, AssignmentState::kEnded);
  EXPECT_TRUE(std::any_of(out.begin(), out.end(),
                          [](const JobEffect& one) { return std::holds_alternative<job_effect::Conclude>(one); }));
  EXPECT_TRUE(job.record().losses.empty());
}

// The owner died before a quorum knew that it had begun on this worker, and then the worker died.
TEST(JobLastOwner, WhatAnAssignmentOfWhichNoBeginIsKnownDidNotTellIsALoss) {
  const AssignmentRecord gone = assignment_of(2, {1, 1, 2}, AssignmentState::kGone, false);
  const JobRecord record = running_record(2, {ended_assignment(1, {0, 1, 2}), gone});
  JobKernel job({load_spec("browse", Duration::seconds(10))}, JobRules(), record, Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(15), {{AssignmentId(1), 10}}, out);
  job.sighted(kAdopted, "w1", 1, {}, out);
  EXPECT_EQ(job.record().workflows[0].state, WorkflowState::kCompleted);
  ASSERT_EQ(job.record().losses.size(), 1u);
  EXPECT_EQ(job.record().losses[0].from, Duration::zero());
  EXPECT_EQ(job.record().losses[0].to, Duration::seconds(10));
  EXPECT_DOUBLE_EQ(job.record().losses[0].ratio, 0.5);
}

// Two workers died in one second, and nobody continued their parts. The record has these losses already.
JobRecord without_two_workers(std::vector<plan::Loss> losses) {
  AssignmentRecord first = assignment_of(2, {1, 1, 3}, AssignmentState::kGone);
  AssignmentRecord second = assignment_of(3, {2, 1, 3}, AssignmentState::kGone);
  first.lost_from = second.lost_from = Duration::seconds(2);
  JobRecord record = running_record(3, {ended_assignment(1, {0, 1, 3}), first, second});
  record.losses = std::move(losses);
  JobKernel job({load_spec("browse", Duration::seconds(10))}, JobRules(), record, Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(15), {{AssignmentId(1), 10}, {AssignmentId(2), 2}, {AssignmentId(3), 2}}, out);
  for (const std::string& worker : job.workers_to_ask()) job.sighted(kAdopted, worker, 1, {}, out);
  return job.record();
}

TEST(JobLastOwner, EachLossNamesTheWorkerThatHadTheParts) {
  const JobRecord job = without_two_workers({});
  ASSERT_EQ(job.losses.size(), 2u);
  EXPECT_EQ(job.losses[0].cause, "worker 'w2' was lost, workflow 'browse'");
  EXPECT_EQ(job.losses[1].cause, "worker 'w3' was lost, workflow 'browse'");
  EXPECT_DOUBLE_EQ(job.losses[1].ratio, 1.0 / 3);
}

TEST(JobLastOwner, TheLastLossOfAFullListStandsForAllThatWereLostAtOnce) {
  const plan::Loss earlier{Duration::zero(), Duration::seconds(1), 0.1, "worker 'w9' was lost"};
  const JobRecord job = without_two_workers(std::vector<plan::Loss>(kMaxLosses, earlier));
  ASSERT_EQ(job.losses.size(), kMaxLosses);
  EXPECT_EQ(job.losses.back().from, Duration::zero());
  EXPECT_EQ(job.losses.back().to, Duration::seconds(10));
  EXPECT_DOUBLE_EQ(job.losses.back().ratio, 2.0 / 3) << "not with the earlier one, which had ended";
}

// It was isolated within its last second, told that second, and was lost before it could tell its end.
TEST(JobLastOwner, TheIdleRestOfTheLastSecondThatWasToldIsLost) {
  const AssignmentRecord runs = assignment_of(1, {0, 1, 1}, AssignmentState::kRunning);
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), running_record(1, {runs}), Prng(1));
  JobEffects out;
  job.iterated(runs.id, {.idle = Duration::millis(700)});
  job.adopt(Instant::from_ns(20'000'000'000), Duration::seconds(15), {{runs.id, 11}}, out);
  job.worker_gone(Instant::from_ns(21'000'000'000), runs.worker, runs.life, "its process has ended", out);
  EXPECT_EQ(job.record().assignments[0].state, AssignmentState::kGone);
  EXPECT_EQ(job.record().assignments[0].lost_from, Duration::millis(10'300));
}

// Its wall clock is behind. One worker has died, the other one tells the clock of the run.
TEST(JobLastOwner, ALossWaitsForTheClockOfTheRun) {
  AssignmentRecord dead = assignment_of(1, {0, 1, 2}, AssignmentState::kRunning);
  dead.iterations = 10'000;
  const AssignmentRecord runs = assignment_of(2, {1, 1, 2}, AssignmentState::kRunning);
  JobKernel job({counted_spec()}, JobRules(), running_record(2, {dead, runs}), Prng(1));
  JobEffects out;
  const Instant now = Instant::from_ns(100'000'000'000);
  job.iterated(dead.id, {.ended = 50, .begun = 50, .pace = 10});
  job.adopt(now, Duration::seconds(5), {{dead.id, 5}, {runs.id, 5}}, out);
  job.worker_gone(now, dead.worker, dead.life, "its process has ended", out);
  EXPECT_EQ(job.find(dead.id)->state, AssignmentState::kRunning);
  job.sighted(now, runs.worker, runs.life,
              {{.assignment = runs.id, .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(30)}}, out);
  EXPECT_EQ(job.find(dead.id)->state, AssignmentState::kGone);
  EXPECT_EQ(job.find(dead.id)->left, 10'000u - 50 - 1 - 255) << "it may have begun ten a second until now";
}

// A clock of the wall that is ahead says that the workflow is over, while a worker still knows better.
TEST(JobLastOwner, TheWallClockDoesNotSayThatAWorkflowIsOver) {
  AssignmentRecord gone = assignment_of(2, {1, 1, 2}, AssignmentState::kGone);
  gone.lost_from = Duration::seconds(2);
  JobKernel job({load_spec("browse", Duration::seconds(10))}, JobRules(),
                running_record(2, {ended_assignment(1, {0, 1, 2}), gone}), Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(15), {{AssignmentId(1), 10}, {AssignmentId(2), 2}}, out);
  ASSERT_TRUE(job.asks("w1"));
  EXPECT_EQ(job.record().workflows[0].state, WorkflowState::kRunning);
  const AssignmentSight knows{
      .assignment = AssignmentId(1), .phase = AssignmentPhase::kEnded, .clock = Duration::seconds(9)};
  job.sighted(kAdopted, "w1", 1, {knows}, out);
  EXPECT_EQ(job.zero(), kAdopted - Duration::seconds(9));
  EXPECT_EQ(job.record().workflows[0].state, WorkflowState::kRunning) << "a worker may still join";
}

// All seconds of a killed process are counted, and the last owner died before it recorded the loss.
TEST(JobLastOwner, AnEndOfWhichAllIsCountedWaitsForTheClockOfTheRun) {
  AssignmentRecord dead = assignment_of(1, {0, 1, 2}, AssignmentState::kRunning);
  dead.iterations = 10'000;
  dead.end = AssignmentEnd{AssignmentOutcome::kLost, "killed", 5, Duration::seconds(5)};
  const AssignmentRecord runs = assignment_of(2, {1, 1, 2}, AssignmentState::kRunning);
  JobKernel job({counted_spec()}, JobRules(), running_record(2, {dead, runs}), Prng(1));
  JobEffects out;
  job.iterated(dead.id, {.ended = 50, .begun = 50, .pace = 10});
  job.adopt(kAdopted, Duration::seconds(5), {{dead.id, 4}, {runs.id, 5}}, out);
  job.applied(kAdopted, dead.id, 5, out);
  EXPECT_EQ(job.find(dead.id)->state, AssignmentState::kRunning);
  job.worker_gone(kAdopted, dead.worker, dead.life, "its process has ended", out);
  job.sighted(kAdopted, runs.worker, runs.life,
              {{.assignment = runs.id, .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(30)}}, out);
  EXPECT_EQ(job.find(dead.id)->state, AssignmentState::kGone);
  EXPECT_EQ(job.find(dead.id)->left, 10'000u - 50 - 1 - 255) << "it may have begun ten a second until now";
  const auto& events = job.record().events;
  EXPECT_FALSE(std::any_of(events.begin(), events.end(), [](const auto& one) { return one.kind == "worker_lost"; }))
      << "its worker had ended it";
}

// It was doubted, and comes back before the new owner knows the clock: its parts move, so it may not run them.
TEST(JobLastOwner, WhoseLossWaitsForTheClockGetsNoPermitForIt) {
  const AssignmentRecord silent = assignment_of(1, {0, 1, 2}, AssignmentState::kRunning);
  const AssignmentRecord runs = assignment_of(2, {1, 1, 2}, AssignmentState::kRunning);
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), running_record(2, {silent, runs}), Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(5), {{silent.id, 5}, {runs.id, 5}}, out);
  ASSERT_TRUE(job.permit(kAdopted, silent.worker, silent.life, {silent.id}, 1)->denied.empty());
  job.worker_gone(kAdopted, silent.worker, silent.life, "it is silent, and its last permit has ended", out);
  EXPECT_EQ(job.permit(kAdopted, silent.worker, silent.life, {silent.id}, 2)->denied, std::vector{silent.id});
}

// The first workflow is over, and the second one waits: its begin, and the timeout of the job, are by that clock.
TEST(JobLastOwner, TheClockOfTheRunIsAskedForBetweenTwoWorkflows) {
  JobRecord record = running_record(1, {ended_assignment(1, {0, 1, 1})});
  record.assignments[0].state = AssignmentState::kEnded;
  record.workflows[0].state = WorkflowState::kCompleted;
  record.workflows.push_back({.state = WorkflowState::kPending});
  JobRules rules;
  rules.timeout = Duration::minutes(15);
  JobKernel job({load_spec("browse", Duration::seconds(10)), load_spec("buy", kMinute)}, rules, record, Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::minutes(15), {{AssignmentId(1), 10}}, out);
  job.tick(kAdopted, out);
  ASSERT_TRUE(job.asks("w1"));
  EXPECT_FALSE(job.record().stop.has_value()) << "its wall clock is ahead";
}

// Its wall clock is behind, or says that the workflow is over. A user cancels the workflow before the workers answer.
TEST(JobLastOwner, TheRestOfAWorkflowThatEndsIsLostByTheClockOfTheRun) {
  for (const Duration ago : {Duration::seconds(5), Duration::seconds(90)}) {
    const AssignmentRecord one = assignment_of(1, {0, 1, 2}, AssignmentState::kRunning);
    const AssignmentRecord two = assignment_of(2, {1, 1, 2}, AssignmentState::kRunning);
    JobKernel job({load_spec("browse", kMinute)}, JobRules(), running_record(2, {one, two}), Prng(1));
    JobEffects out;
    job.adopt(kAdopted, ago, {{one.id, 29}, {two.id, 29}}, out);
    job.stop(kAdopted, {JobStop::Cause::kCancelled, StopHow::kAtOnce, "ann", "enough"}, {0}, out);
    EXPECT_EQ(job.record().workflows[0].state, WorkflowState::kCancelled);
    for (const AssignmentRecord& runs : {one, two}) {
      job.sighted(kAdopted + Duration::seconds(1), runs.worker, runs.life,
                  {{.assignment = runs.id, .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(31)}}, out);
    }
    const plan::Loss rest{Duration::seconds(30), kMinute, 1, "cancelled, workflow 'browse'"};
    EXPECT_EQ(job.record().losses, std::vector{rest});
    EXPECT_EQ(job.record().events.front().kind, "workflow_stopping");
    EXPECT_EQ(job.record().events.front().at, Duration::seconds(30));
    job.worker_gone(kAdopted + Duration::seconds(2), one.worker, one.life, "its process has ended", out);
    ASSERT_EQ(job.record().losses.size(), 2u);
    EXPECT_EQ(job.record().losses[1].from, Duration::seconds(29));
    EXPECT_EQ(job.record().losses[1].to, Duration::seconds(30)) << "until the workflow was cancelled";
  }
}

// Its second owner dies before the workers answer.
TEST(JobLastOwner, NoRecordHasAnEndedWorkflowWithoutItsLoss) {
  const AssignmentRecord runs = assignment_of(1, {0, 1, 1}, AssignmentState::kRunning);
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), running_record(1, {runs}), Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(5), {{runs.id, 4}}, out);
  job.stop(kAdopted, {JobStop::Cause::kCancelled, StopHow::kAtOnce, "ann", "enough"}, {0}, out);
  ASSERT_TRUE(job.asks(runs.worker));
  ASSERT_EQ(job.record().losses.size(), 1u);
  EXPECT_EQ(job.record().losses[0].from, Duration::seconds(5));
}

TEST(JobLastOwner, ACancelledJobNamesWhatNobodyRan) {
  AssignmentRecord lost = assignment_of(1, {0, 1, 1}, AssignmentState::kGone);
  lost.lost_from = Duration::seconds(9);
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), running_record(1, {lost}), Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(20), {{lost.id, 9}}, out);
  job.worker_gone(kAdopted, lost.worker, lost.life, "its process has ended", out);
  job.stop(kAdopted, {JobStop::Cause::kCancelled, StopHow::kAtOnce, "ann", "enough"}, {}, out);
  EXPECT_EQ(job.record().workflows[0].state, WorkflowState::kCancelled);
  ASSERT_EQ(job.record().losses.size(), 1u);
  EXPECT_EQ(job.record().losses[0].from, Duration::seconds(9));
  EXPECT_EQ(job.record().losses[0].to, Duration::seconds(20));
}

// An owner stopped it, and died before a quorum had the reason.
TEST(JobLastOwner, AStopThatTheRecordDoesNotExplainIsToldWithTheReasonThatTheWorkerHas) {
  AssignmentRecord stopped = assignment_of(1, {0, 1, 2}, AssignmentState::kRunning);
  stopped.end = AssignmentEnd{AssignmentOutcome::kStopped, "it was reassigned", 5, Duration::seconds(5)};
  const AssignmentRecord runs = assignment_of(2, {1, 1, 2}, AssignmentState::kRunning);
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), running_record(2, {stopped, runs}), Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(9), {{stopped.id, 5}, {runs.id, 8}}, out);
  job.sighted(kAdopted, runs.worker, runs.life,
              {{.assignment = runs.id, .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(9)}}, out);
  const auto& events = job.record().events;
  const auto told =
      std::find_if(events.begin(), events.end(), [](const auto& one) { return one.kind == "worker_left"; });
  ASSERT_NE(told, events.end());
  EXPECT_NE(told->detail.find("it was reassigned"), std::string::npos) << told->detail;
}

// One worker had left, which leaves a gap, and the assignment of another one aborts the job.
TEST(JobLastOwner, AStopByOneEndDoesNotHideTheLossOfAnother) {
  AssignmentRecord left = assignment_of(1, {0, 1, 3}, AssignmentState::kRunning);
  left.end = AssignmentEnd{AssignmentOutcome::kLeft, {}, 5, Duration::seconds(5)};
  AssignmentRecord killed = assignment_of(2, {1, 1, 3}, AssignmentState::kRunning);
  killed.end = AssignmentEnd{AssignmentOutcome::kLost, "killed", 6, Duration::seconds(6)};
  AssignmentRecord aborts = assignment_of(3, {2, 1, 3}, AssignmentState::kRunning);
  aborts.end = AssignmentEnd{AssignmentOutcome::kAborted, "browse.pay", 7, Duration::seconds(7)};
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), running_record(3, {left, killed, aborts}), Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(9), {{left.id, 5}, {killed.id, 6}, {aborts.id, 7}}, out);
  for (const std::string& worker : job.workers_to_ask()) job.sighted(kAdopted, worker, 1, {}, out);
  ASSERT_TRUE(job.record().stop.has_value());
  ASSERT_EQ(job.record().losses.size(), 2u);
  EXPECT_EQ(job.record().losses[0].from, Duration::seconds(5));
  EXPECT_EQ(job.record().losses[0].to, Duration::seconds(9));
  EXPECT_EQ(job.record().losses[1].from, Duration::seconds(6));
}

// Its process was killed before the begin, which its worker tells while another one has not answered yet.
TEST(JobLastOwner, WhatHasEndedIsNotOfferedAgain) {
  JobRecord record = running_record(2, {assignment_of(1, {0, 1, 2}, AssignmentState::kOffered, false),
                                        assignment_of(2, {1, 1, 2}, AssignmentState::kRunning)});
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), record, Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(5), {{AssignmentId(2), 5}}, out);
  out.clear();
  job.sighted(kAdopted, "w1", 1,
              {{.assignment = AssignmentId(1),
                .phase = AssignmentPhase::kEnded,
                .end = {AssignmentOutcome::kLost, "killed", 0, Duration::zero()}}},
              out);
  EXPECT_FALSE(std::any_of(out.begin(), out.end(),
                           [](const JobEffect& one) { return std::holds_alternative<job_effect::Offer>(one); }));
  job.offered(kAdopted, AssignmentId(1), OfferAnswer::kBroken, "it ended before it started", out);
  EXPECT_EQ(job.record().workflows[0].state, WorkflowState::kRunning);
}

// The ingest of the new owner lacks the last second of an assignment whose end and loss the record has.
TEST(JobLastOwner, AnEndThatTheRecordHasIsNotWrittenAgain) {
  AssignmentRecord ended = assignment_of(1, {0, 1, 2}, AssignmentState::kEnded);
  ended.handed_over = true;
  ended.until = 9;
  ended.lost_from = Duration::seconds(9);
  ended.end = AssignmentEnd{AssignmentOutcome::kIsolated, "it was isolated", 8, Duration::seconds(8)};
  JobRecord record = running_record(2, {ended, assignment_of(2, {1, 1, 2}, AssignmentState::kRunning)});
  record.losses = {{Duration::seconds(8), Duration::seconds(9), 0.5, "worker 'w1' was lost"}};
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), record, Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::seconds(10), {{AssignmentId(1), 7}, {AssignmentId(2), 10}}, out);
  EXPECT_TRUE(job.asks("w1"));
  job.applied(kAdopted, AssignmentId(1), 8, out);
  for (const std::string& worker : job.workers_to_ask()) {
    job.sighted(kAdopted, worker, 1,
                {{.assignment = AssignmentId(2), .phase = AssignmentPhase::kRunning, .clock = Duration::seconds(10)}},
                out);
  }
  EXPECT_EQ(job.find(AssignmentId(1))->state, AssignmentState::kEnded);
  EXPECT_EQ(job.record().losses.size(), 1u);
}

// The last owner gave the order to begin, and died before it wrote that down. The assignment has ended since, and its
// last seconds are still with its worker.
TEST(JobLastOwner, WhatHasBegunAndEndedDoesNotBeginAgain) {
  JobRecord record = running_record(1, {assignment_of(1, {0, 1, 1}, AssignmentState::kReady)});
  record.assignments[0].streams = false;
  record.workflows[0].state = WorkflowState::kAssigned;
  record.workflows[0].begun = false;
  record.state = JobState::kDispatching;
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), record, Prng(1));
  JobEffects out;
  job.adopt(kAdopted, Duration::zero(), {}, out);
  const AssignmentEnd end{AssignmentOutcome::kIsolated, "no permit", 5, Duration::seconds(5)};
  job.sighted(
      kAdopted, "w1", 1,
      {{.assignment = AssignmentId(1), .phase = AssignmentPhase::kEnded, .clock = Duration::seconds(10), .end = end}},
      out);
  EXPECT_FALSE(std::any_of(out.begin(), out.end(),
                           [](const JobEffect& effect) { return std::holds_alternative<job_effect::Begin>(effect); }));
  EXPECT_EQ(job.find(AssignmentId(1))->from, 0u);
}

TEST(JobBook, APartDoesNotDieWithWhoHasHandedItOver) {
  JobRecord record = running_record(1, {assignment_of(1, {0, 1, 1}, AssignmentState::kGone)});
  EXPECT_EQ(deaths(JobBook({load_spec("browse", kMinute)}, JobRules(), record), 0, 0), 1u);
  record.assignments[0].handed_over = true;
  EXPECT_EQ(deaths(JobBook({load_spec("browse", kMinute)}, JobRules(), record), 0, 0), 0u);
}

TEST(JobBook, TheRestOfAWorkflowHasWhatNobodyRunsOfItSinceItWasLost) {
  AssignmentRecord lost = assignment_of(1, {0, 1, 2}, AssignmentState::kGone);
  lost.lost_from = Duration::seconds(9);
  JobBook book({load_spec("browse", kMinute)}, JobRules(),
               running_record(2, {lost, assignment_of(2, {1, 1, 2}, AssignmentState::kRunning)}));
  book.zero = kAdopted - Duration::seconds(20);
  book.record.workflows[0].state = WorkflowState::kFailed;
  book.lose_rest(kAdopted, 0);
  ASSERT_EQ(book.record.losses.size(), 2u);
  EXPECT_EQ(book.record.losses[0].from, Duration::seconds(9));
  EXPECT_EQ(book.record.losses[0].to, Duration::seconds(20));
  EXPECT_DOUBLE_EQ(book.record.losses[0].ratio, 0.5);
  EXPECT_EQ(book.record.losses[1].from, Duration::seconds(20));
}

// In a full list each new event displaces another one, perhaps one that has no certain time yet.
TEST(JobBook, EventsGetTheirTimesByTheClockOfTheRun) {
  JobBook book({load_spec("browse", kMinute)}, JobRules(), running_record(1, {}));
  book.zero = kAdopted - Duration::seconds(5);
  for (std::size_t i = 0; i < kMaxJobEvents; ++i) book.add_event(kAdopted, "certain", {});
  book.adopting = true;
  for (int i = 0; i < 20; ++i)
    book.add_event(kAdopted + Duration::seconds(i), "early " + std::to_string(i % 7), std::to_string(i));
  book.zero = kAdopted - Duration::seconds(30);
  book.settle_clock(kAdopted + Duration::seconds(20));
  int early = 0;
  for (const JobEvent& event : book.record.events) {
    const Duration at =
        event.kind == "certain" ? Duration::seconds(5) : Duration::seconds(30 + std::stoi(event.detail));
    EXPECT_EQ(event.at, at) << event.kind;
    early += event.kind == "certain" ? 0 : 1;
  }
  EXPECT_EQ(early, 7);
}

// Neither a loss between two others, nor one of another workflow at the same time, adds to them.
TEST(JobLastOwner, AFullListAddsUpWhatOneWorkflowLostAtOnceOnly) {
  const plan::Loss earlier{Duration::zero(), Duration::seconds(1), 0.1, "worker 'w9' was lost"};
  JobRecord record = running_record(4, {});
  record.workflows.push_back(record.workflows.front());
  record.losses.assign(kMaxLosses, earlier);
  JobBook book({load_spec("browse", Duration::seconds(90)), load_spec("buy", Duration::seconds(90))}, JobRules(),
               record);
  const auto lose = [&](uint16_t workflow, uint32_t parts, int64_t from, int64_t to) {
    book.add_loss(workflow, "worker 'w1' was lost", parts, Duration::seconds(from), Duration::seconds(to));
    return book.record.losses.back().ratio;
  };
  EXPECT_DOUBLE_EQ(lose(0, 1, 10, 12), 0.25);
  EXPECT_DOUBLE_EQ(lose(0, 1, 30, 32), 0.25);
  EXPECT_DOUBLE_EQ(lose(0, 1, 20, 22), 0.25) << "between the others";
  EXPECT_DOUBLE_EQ(lose(1, 1, 30, 32), 0.25) << "of another workflow";
  EXPECT_DOUBLE_EQ(lose(0, 1, 31, 33), 0.5);
  EXPECT_EQ(book.record.losses.back().from, Duration::zero());
  EXPECT_EQ(book.record.losses.back().to, Duration::seconds(33));
}

// The wall clock of the new owner is behind, and no running worker is left to correct it.
TEST(JobLastOwner, NoSecondThatWasToldIsMeasuredAgainWhenAClockIsBehind) {
  AssignmentRecord left = assignment_of(1, {0, 1, 1}, AssignmentState::kGone);
  left.end = AssignmentEnd{AssignmentOutcome::kLeft, {}, 30, Duration::seconds(30)};
  JobRecord record = running_record(1, {left, assignment_of(2, {0, 1, 1}, AssignmentState::kReady, false)});
  record.workflows[0].state = WorkflowState::kAssigned;
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), record, Prng(1));
  const Instant adopted = Instant::from_ns(100'000'000'000);
  const auto begun_by = [&](Duration elapsed) {
    JobEffects out;
    job.tick(adopted - Duration::seconds(5) + elapsed, out);
    return job.find(AssignmentId(2))->state == AssignmentState::kRunning;
  };
  JobEffects out;
  job.adopt(adopted, Duration::seconds(5), {{AssignmentId(1), 30}}, out);
  job.sighted(adopted, "w2", 1, {{.assignment = AssignmentId(2), .phase = AssignmentPhase::kReady}}, out);
  EXPECT_FALSE(begun_by(Duration::millis(29'900)));
  EXPECT_TRUE(begun_by(Duration::seconds(30)));
  EXPECT_EQ(job.find(AssignmentId(2))->from, 30u);
}

// The clock of an owner is behind, but the measured seconds show that the run has lasted longer.
TEST(JobLastOwner, ALossIsNotCutShortWhenAClockIsBehind) {
  AssignmentRecord lost = assignment_of(1, {0, 1, 2}, AssignmentState::kGone);
  lost.lost_from = Duration::seconds(2);
  JobRecord record = running_record(2, {lost, ended_assignment(2, {1, 1, 2}), ended_assignment(3, {0, 1, 2}, 9)});
  record.losses = {{Duration::seconds(2), Duration::millis(9'900), 0.5, "worker 'w1' was lost"}};
  JobKernel job({load_spec("browse", Duration::seconds(10))}, JobRules(), record, Prng(1));
  JobEffects out;
  job.adopt(Instant::from_ns(100'000'000'000), Duration::seconds(5),
            {{AssignmentId(1), 2}, {AssignmentId(2), 10}, {AssignmentId(3), 1}}, out);
  for (const std::string& worker : job.workers_to_ask()) {
    job.sighted(Instant::from_ns(100'000'000'000), worker, 1, {}, out);
  }
  EXPECT_EQ(job.record().workflows[0].state, WorkflowState::kCompleted);
  ASSERT_EQ(job.record().losses.size(), 1u);
  EXPECT_EQ(job.record().losses[0].to, Duration::millis(9'900));
  EXPECT_EQ(job.record().elapsed, Duration::seconds(10));
}

// Two workers, of which one has ended its assignment. Where the clock of the run began.
Instant outlive_the_short_one(JobWorld& world) {
  world.add("w1", 1);
  world.add("w2", 1);
  EXPECT_TRUE(world.begins());
  for (int i = 0; i < 200; ++i) world.step(kStep);
  return world.job().zero().value();
}

// The only worker that runs anything dies with the owner. Without a clock from the other one, arrivals would come
// twice.
TEST(JobLastOwner, AWorkerOnWhichAnAssignmentHasEndedKnowsTheClockOfTheRun) {
  JobWorld world({load_spec("short", Duration::seconds(10)), load_spec("browse", kMinute)}, 7);
  const Instant zero = outlive_the_short_one(world);
  const auto running = std::find_if(world.record().assignments.begin(), world.record().assignments.end(),
                                    [](const AssignmentRecord& one) { return is_live(one); });
  ASSERT_NE(running, world.record().assignments.end());
  world.die(std::string(running->worker));
  world.wall_is_off = -Duration::seconds(5);
  world.replace_owner();
  world.step(kStep);
  EXPECT_EQ(world.job().zero(), zero);
  expect_end(world, kMinute * 2);
}

// Nobody knows it: the owner waits for an answer, but not for ever.
TEST(JobLastOwner, WithoutAnyWorkerThatKnowsTheRunTheClockIsThatOfTheWall) {
  JobWorld world({load_spec("short", Duration::seconds(10)), load_spec("browse", kMinute)}, 7);
  const Instant zero = outlive_the_short_one(world);
  world.die("w1");
  world.die("w2");
  world.add("w3", 1);
  world.wall_is_off = -Duration::seconds(5);
  world.replace_owner();
  for (int i = 0; i < 60; ++i) world.step(kStep);
  EXPECT_EQ(world.job().zero(), zero + Duration::seconds(5));
  expect_end(world, kMinute * 2);
}

// The sights come again with each change of any job: else a full worker is asked as often as it answers.
TEST(JobPool, AWorkerThatWasBusyIsAskedAgainAfterItsNextReport) {
  JobBook book({}, {}, {});
  JobPool pool(book, Prng(1));
  WorkerSight sight{.name = "w1", .life = 1, .cores = 4, .free = 2};
  const auto free_after = [&](Instant heard) {
    sight.heard = heard;
    pool.take_in({sight});
    return pool.workers()[0].free;
  };
  const Instant first = Instant::from_ns(1);
  EXPECT_EQ(free_after(first), 2u);
  pool.set_aside("w1");
  EXPECT_EQ(pool.workers()[0].free, 0u);
  EXPECT_EQ(free_after(first), 0u);
  EXPECT_EQ(free_after(first), 0u);
  EXPECT_EQ(free_after(first + Duration::seconds(1)), 2u);
  EXPECT_EQ(free_after(first + Duration::seconds(1)), 2u);
}

}  // namespace
}  // namespace bellwether::dispatch
