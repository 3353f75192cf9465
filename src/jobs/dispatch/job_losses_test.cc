// What a job records as lost where orders and ends cross each other.
#include <gtest/gtest.h>

#include "jobs/dispatch/job_kernel.h"
#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

const Instant kLossesNow = Instant::from_ns(20'000'000'000);

AssignmentRecord lossy_assignment(uint32_t id, PartRange parts, AssignmentState state) {
  AssignmentRecord assignment;
  assignment.id = AssignmentId(id);
  assignment.worker = "w" + std::to_string(id);
  assignment.life = 1;
  assignment.parts = parts;
  assignment.state = state;
  assignment.streams = true;
  return assignment;
}
JobRecord lossy_record(uint32_t parts, std::vector<AssignmentRecord> assignments) {
  JobRecord record;
  record.id = "job";
  record.state = JobState::kRunning;
  record.started = WallTime{1'000'000'000};
  record.workflows = {{.state = WorkflowState::kRunning, .why = {}, .parts = parts, .base_second = 0, .begun = true}};
  record.last_assignment = static_cast<uint32_t>(assignments.size());
  record.assignments = std::move(assignments);
  return record;
}

// The order to begin did not arrive before its owner died.
TEST(JobLosses, ALossUpToABeginThatDidNotArriveIsNotWrittenAgain) {
  AssignmentRecord lost = lossy_assignment(1, {0, 1, 1}, AssignmentState::kGone);
  lost.lost_from = Duration::seconds(10);
  AssignmentRecord next = lossy_assignment(2, {0, 1, 1}, AssignmentState::kRunning);
  next.from = 12;
  JobRecord record = lossy_record(1, {lost, next});
  const std::string cause = "worker 'w1' was lost, workflow 'browse'";
  record.losses = {{Duration::seconds(10), Duration::millis(12'300), 1, cause}};
  JobKernel job({load_spec("browse", kMinute)}, JobRules(), record, Prng(1));
  JobEffects out;
  job.adopt(kLossesNow, Duration::seconds(20), {{lost.id, 10}}, out);
  job.sighted(kLossesNow, lost.worker, lost.life, {}, out);
  job.sighted(kLossesNow, next.worker, next.life, {{.assignment = next.id, .phase = AssignmentPhase::kReady}}, out);
  EXPECT_EQ(job.record().assignments[1].from, 20u);
  ASSERT_EQ(job.record().losses.size(), 2u);
  EXPECT_EQ(job.record().losses[1], (plan::Loss{Duration::seconds(12), Duration::seconds(20), 1, cause}));
}

}  // namespace
}  // namespace bellwether::dispatch
