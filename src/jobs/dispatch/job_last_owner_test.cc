// The state after the death of an owner between two of its actions.
#include <algorithm>

#include "jobs/dispatch/job_desk.h"
#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

// Of one workflow, which runs.
JobSheet running_sheet(uint32_t parts, std::vector<ShareSheet> shares) {
  JobSheet sheet;
  sheet.id = "job";
  sheet.state = JobState::kRunning;
  sheet.started = WallTime{1'000'000'000};
  sheet.workflows.resize(1);
  sheet.workflows[0] = {.state = WorkflowState::kRunning, .why = {}, .parts = parts, .base_second = 0, .begun = true};
  sheet.last_share = static_cast<uint32_t>(shares.size());
  sheet.shares = std::move(shares);
  return sheet;
}
ShareSheet share_of(uint32_t id, PartRange parts, ShareState state, bool streams = true) {
  ShareSheet share;
  share.id = ShareId(id);
  share.worker = "w" + std::to_string(id);
  share.life = 1;
  share.parts = parts;
  share.state = state;
  share.streams = streams;
  return share;
}
ShareSheet ended_share(uint32_t id, PartRange parts, uint64_t from = 0) {
  ShareSheet share = share_of(id, parts, ShareState::kRunning);
  share.from = from;
  share.end = ShareEnd{ShareOutcome::kCompleted, {}, 10 - from, Duration::seconds(10)};
  return share;
}

// The register has the end of an assignment, but not yet that all of it is counted; the account's copy has that.
TEST(JobLastOwner, AShareThatHadAllButEndedWithItsOwnerIsNotAskedForAgain) {
  const JobSheet sheet = running_sheet(1, {ended_share(1, {0, 1, 1})});
  JobDesk job({load_spec("browse", Duration::seconds(10))}, JobRules(), sheet, Prng(1));
  JobEffects out;
  job.adopt(Instant::from_ns(20'000'000'000), Duration::seconds(15), {{ShareId(1), 10}}, out);
  EXPECT_TRUE(job.workers_to_ask().empty());
  EXPECT_EQ(job.sheet().shares[0].state, ShareState::kEnded);
  EXPECT_TRUE(std::any_of(out.begin(), out.end(),
                          [](const JobEffect& one) { return std::holds_alternative<job_effect::Conclude>(one); }));
  EXPECT_TRUE(job.sheet().losses.empty());
}

// The owner died before a quorum knew that it had begun on this worker, and then the worker died.
TEST(JobLastOwner, WhatAShareOfWhichNoBeginIsKnownDidNotTellIsALoss) {
  const ShareSheet gone = share_of(2, {1, 1, 2}, ShareState::kGone, false);
  const JobSheet sheet = running_sheet(2, {ended_share(1, {0, 1, 2}), gone});
  JobDesk job({load_spec("browse", Duration::seconds(10))}, JobRules(), sheet, Prng(1));
  JobEffects out;
  job.adopt(Instant::from_ns(20'000'000'000), Duration::seconds(15), {{ShareId(1), 10}}, out);
  EXPECT_EQ(job.sheet().workflows[0].state, WorkflowState::kCompleted);
  ASSERT_EQ(job.sheet().losses.size(), 1u);
  EXPECT_EQ(job.sheet().losses[0].from, Duration::zero());
  EXPECT_EQ(job.sheet().losses[0].to, Duration::seconds(10));
  EXPECT_DOUBLE_EQ(job.sheet().losses[0].share, 0.5);
}

// The wall clock of the new owner is behind, and no running worker is left to correct it.
TEST(JobLastOwner, NoSecondThatWasToldIsMeasuredAgainWhenAClockIsBehind) {
  ShareSheet left = share_of(1, {0, 1, 1}, ShareState::kGone);
  left.end = ShareEnd{ShareOutcome::kLeft, {}, 30, Duration::seconds(30)};
  JobSheet sheet = running_sheet(1, {left, share_of(2, {0, 1, 1}, ShareState::kReady, false)});
  sheet.workflows[0].state = WorkflowState::kAssigned;
  JobDesk job({load_spec("browse", kMinute)}, JobRules(), sheet, Prng(1));
  const Instant adopted = Instant::from_ns(100'000'000'000);
  const auto begun_by = [&](Duration elapsed) {
    JobEffects out;
    job.tick(adopted - Duration::seconds(5) + elapsed, out);
    return job.find(ShareId(2))->state == ShareState::kRunning;
  };
  JobEffects out;
  job.adopt(adopted, Duration::seconds(5), {{ShareId(1), 30}}, out);
  EXPECT_FALSE(begun_by(Duration::millis(29'900)));
  EXPECT_TRUE(begun_by(Duration::seconds(30)));
  EXPECT_EQ(job.find(ShareId(2))->from, 30u);
}

// The clock of an owner is behind, but the measured seconds show that the run has lasted longer.
TEST(JobLastOwner, ALossIsNotCutShortWhenAClockIsBehind) {
  ShareSheet lost = share_of(1, {0, 1, 2}, ShareState::kGone);
  lost.lost_from = Duration::seconds(2);
  JobSheet sheet = running_sheet(2, {lost, ended_share(2, {1, 1, 2}), ended_share(3, {0, 1, 2}, 9)});
  sheet.losses = {{Duration::seconds(2), Duration::millis(9'900), 0.5, "worker 'w1' was lost"}};
  JobDesk job({load_spec("browse", Duration::seconds(10))}, JobRules(), sheet, Prng(1));
  JobEffects out;
  job.adopt(Instant::from_ns(100'000'000'000), Duration::seconds(5),
            {{ShareId(1), 2}, {ShareId(2), 10}, {ShareId(3), 1}}, out);
  EXPECT_EQ(job.sheet().workflows[0].state, WorkflowState::kCompleted);
  ASSERT_EQ(job.sheet().losses.size(), 1u);
  EXPECT_EQ(job.sheet().losses[0].to, Duration::millis(9'900));
  EXPECT_EQ(job.sheet().elapsed, Duration::seconds(10));
}

}  // namespace
}  // namespace bellwether::dispatch
