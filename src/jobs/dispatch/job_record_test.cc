#include "jobs/dispatch/job_record.h"

#include <gtest/gtest.h>
#include <limits>
#include <set>

#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

TEST(JobBook, of_many_events_the_first_and_the_newest_stay_and_a_flood_displaces_its_own_kind) {
  JobBook book{{load_spec("browse", Duration::minutes(10))}, JobRules(), JobRecord()};
  for (std::size_t i = 0; i < kMaxJobEvents; ++i) book.add_event(Instant(), i == 150 ? "worker_lost" : "scaled", "a");
  for (std::size_t i = 0; i < 1000; ++i) book.add_event(Instant(), "scaled", std::to_string(i));
  const std::vector<JobEvent>& events = book.record.events;
  EXPECT_EQ(events.size(), kMaxJobEvents);
  EXPECT_EQ(book.record.events_dropped, 1000u);
  EXPECT_EQ(events[kMaxJobEvents / 2 - 1].detail, "a");
  EXPECT_EQ(events[kMaxJobEvents / 2].kind, "worker_lost");
  EXPECT_EQ(events.back().detail, "999");
  book.add_event(Instant(), "stopping", "by a person");
  EXPECT_EQ(events.back().kind, "stopping");
  EXPECT_EQ(events[kMaxJobEvents / 2].kind, "scaled") << "of a kind that has none among the newer ones the oldest goes";
}

// The last entry of a full list may name more than is missing, and never less.
TEST(JobBook, a_rest_that_a_full_list_has_merged_stays_when_workers_stop_later) {
  const AssignmentRecord one = assignment_of(1, {0, 1, 2}, AssignmentState::kStopping);
  const AssignmentRecord two = assignment_of(2, {1, 1, 2}, AssignmentState::kStopping);
  JobRecord record = running_record(2, {one, two});
  record.workflows[0].state = WorkflowState::kCancelled;
  record.losses.assign(kMaxLosses, {Duration::seconds(1), Duration::seconds(2), 0.1, "worker 'w9' was lost"});
  JobBook book({load_spec("browse", kMinute)}, JobRules(), record);
  book.zero = kAdopted - Duration::seconds(13);
  book.lose_rest(kAdopted, 0);
  const plan::Loss merged{Duration::seconds(1), kMinute, 1, std::string(kMergedLosses)};
  ASSERT_EQ(book.record.losses.back(), merged);
  book.fit_rest(one, Duration::seconds(20));
  book.fit_rest(two, Duration::seconds(30));
  EXPECT_EQ(book.record.losses.size(), kMaxLosses);
  EXPECT_EQ(book.record.losses.back(), merged);
}

// Two workflows, and an assignment in each state.
JobRecord good_record() {
  JobRecord record;
  record.id = "job-1";
  record.bundle = "c0ffee";
  record.submitted = record.started = record.ended = WallTime{1'800'000'000'000'000'000};
  record.elapsed = Duration::minutes(5);
  record.stop = JobStop{JobStop::Cause::kOnError, StopHow::kGraceful, "", "a step failed"};
  record.last_assignment = 9;
  record.workflows.resize(2);
  record.losses = {{Duration::seconds(1), Duration::seconds(3), 0.25, "w2 died"}};
  record.events = {{Duration::seconds(3), "worker_lost", "w2"}};
  for (uint32_t i = 0; i < kAssignmentStates; ++i) {
    AssignmentRecord assignment;
    assignment.id = AssignmentId(i + 1);
    assignment.workflow = static_cast<uint16_t>(i % 2);
    assignment.worker = "w1";
    assignment.state = static_cast<AssignmentState>(i);
    assignment.streams = assignment.state >= AssignmentState::kRunning;
    if (assignment.state == AssignmentState::kEnded)
      assignment.end = AssignmentEnd{AssignmentOutcome::kStopped, "", 12, Duration::seconds(12)};
    record.assignments.push_back(assignment);
  }
  return record;
}

AssignmentRecord& of(JobRecord& record, AssignmentState state) {
  return record.assignments[static_cast<std::size_t>(state)];
}

template <class Spoil>
::testing::AssertionResult refuses(Spoil spoil, const std::string& says) {
  JobRecord record = good_record();
  spoil(record);
  const Status status = check_record(record);
  if (status) return ::testing::AssertionFailure() << "taken: " << says;
  if (status.error().code != Errc::kInvalid || status.error().message.find(says) == std::string::npos) {
    return ::testing::AssertionFailure() << status.error().message;
  }
  return ::testing::AssertionSuccess();
}

TEST(JobRecord, a_record_of_every_state_is_good) {
  const Status status = check_record(good_record());
  EXPECT_TRUE(status) << status.error().message;
}

TEST(JobRecord, what_no_owner_could_have_written_is_refused) {
  const Duration ages = Duration::hours(24 * 365 * 20);
  EXPECT_TRUE(refuses([](auto& s) { s.id = "a/b"; }, "with an invalid id"));
  EXPECT_TRUE(refuses([](auto& s) { s.bundle.clear(); }, "an invalid hash"));
  EXPECT_TRUE(refuses([](auto& s) { s.state = static_cast<JobState>(kJobStates); }, "an unknown state"));
  EXPECT_TRUE(refuses([](auto& s) { s.submitted.unix_ns = -1; }, "an impossible time"));
  EXPECT_TRUE(refuses([](auto& s) { s.started.unix_ns = INT64_MAX; }, "an impossible time"));
  EXPECT_TRUE(refuses([](auto& s) { s.ended.unix_ns = INT64_MIN; }, "an impossible time"));
  EXPECT_TRUE(refuses([](auto& s) { s.elapsed = Duration::nanos(-1); }, "an impossible time"));
  EXPECT_TRUE(refuses([&](auto& s) { s.elapsed = ages; }, "an impossible time"));
  EXPECT_TRUE(refuses([](auto& s) { s.stop->cause = static_cast<JobStop::Cause>(kStopCauses); }, "a stop"));
  EXPECT_TRUE(refuses([](auto& s) { s.stop->how = static_cast<StopHow>(2); }, "a stop"));
  EXPECT_TRUE(refuses([](auto& s) { s.workflows.resize(kMaxWorkflows + 1); }, "too many workflows"));
  EXPECT_TRUE(refuses([](auto& s) { s.assignments.resize(kMaxAssignments + 1); }, "too many assignments"));
  EXPECT_TRUE(refuses([](auto& s) { s.losses.resize(kMaxLosses + 1); }, "too many losses"));
  EXPECT_TRUE(refuses([](auto& s) { s.events.resize(kMaxJobEvents + 1); }, "too many events"));
  EXPECT_TRUE(refuses([](auto& s) { s.events[0].at = Duration::nanos(-1); }, "an event at an impossible time"));
  EXPECT_TRUE(refuses([](auto& s) { s.losses[0].ratio = 1.01; }, "a loss whose ratio"));
  EXPECT_TRUE(
      refuses([](auto& s) { s.losses[0].ratio = std::numeric_limits<double>::quiet_NaN(); }, "a loss whose ratio"));
  EXPECT_TRUE(refuses([](auto& s) { s.losses[0].to = Duration::millis(999); }, "a loss that ends"));
  EXPECT_TRUE(refuses([](auto& s) { s.losses[0].from = Duration::nanos(-1); }, "a loss that ends"));
  EXPECT_TRUE(refuses([&](auto& s) { s.losses[0].to = ages; }, "a loss that ends"));
}

TEST(JobRecord, workflows_that_cannot_be_are_refused) {
  EXPECT_TRUE(refuses([](auto& s) { s.workflows[1].state = static_cast<WorkflowState>(kWorkflowStates); },
                      "workflow 1 with an unknown state"));
  EXPECT_TRUE(refuses([](auto& s) { s.workflows[0].parts = kMaxParts + 1; }, "workflow 0 with too many parts"));
  EXPECT_TRUE(
      refuses([](auto& s) { s.workflows[0].base_second = kMaxSeconds + 1; }, "workflow 0 with an impossible second"));
}

TEST(JobRecord, assignments_that_cannot_be_are_refused) {
  EXPECT_TRUE(refuses([](auto& s) { s.assignments[1].id = AssignmentId(); }, "assignment 0 with an id"));
  EXPECT_TRUE(refuses([](auto& s) { s.last_assignment = 5; }, "assignment 6 with an id"));
  EXPECT_TRUE(refuses([](auto& s) { s.assignments[1].id = AssignmentId(1); }, "ids do not ascend"));
  EXPECT_TRUE(refuses([](auto& s) { std::swap(s.assignments[0].id, s.assignments[1].id); }, "ids do not ascend"));
  EXPECT_TRUE(refuses([](auto& s) { s.assignments[0].workflow = 2; }, "assignment 1 with a workflow"));
  EXPECT_TRUE(
      refuses([](auto& s) { s.assignments[0].worker.clear(); }, "assignment 1 with an invalid name of a worker"));
  EXPECT_TRUE(refuses([](auto& s) { s.assignments[0].parts.count = 0; }, "assignment 1 with invalid parts"));
  EXPECT_TRUE(refuses([](auto& s) { s.assignments[0].cores = kMaxParts + 1; }, "assignment 1 with too many cores"));
  EXPECT_TRUE(refuses([](auto& s) { s.assignments[0].state = static_cast<AssignmentState>(kAssignmentStates); },
                      "assignment 1 with an unknown state"));
  EXPECT_TRUE(
      refuses([](auto& s) { s.assignments[0].from = kMaxSeconds + 1; }, "assignment 1 with an impossible second"));
  EXPECT_TRUE(
      refuses([](auto& s) { s.assignments[0].follows = s.assignments[0].id; }, "assignment 1 with a predecessor"));
  EXPECT_TRUE(
      refuses([](auto& s) { s.assignments[0].until = kMaxSeconds + 1; }, "assignment 1 with an impossible second"));
}

TEST(JobRecord, an_assignment_whose_state_contradicts_itself_is_refused) {
  using enum AssignmentState;
  EXPECT_TRUE(refuses([](auto& s) { of(s, kRunning).streams = false; }, "without a stream"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kEnded).end.reset(); }, "without an end"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kRunning).handed_over = true; }, "a hand-over without"));
  EXPECT_TRUE(refuses(
      [](auto& s) {
        of(s, kOffered).until = 3;
        of(s, kOffered).streams = false;
        of(s, kOffered).handed_over = true;
      },
      "a hand-over without"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kEnded).end->outcome = static_cast<AssignmentOutcome>(kAssignmentOutcomes); },
                      "an unknown outcome"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kEnded).end->last_number = kMaxSeconds + 1; }, "an impossible number"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kEnded).end->ran = Duration::max(); }, "an impossible time"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kEnded).end->ran = Duration::nanos(-1); }, "an impossible time"));
  EXPECT_TRUE(refuses([](auto& s) { of(s, kGone).lost_from = Duration::nanos(-1); }, "an impossible time"));
  const plan::Finding backwards{plan::Saturation::kCpu, Duration::seconds(2), Duration::seconds(1), 1, true};
  EXPECT_TRUE(refuses([&](auto& s) { s.findings = {backwards}; }, "an impossible finding"));
  EXPECT_TRUE(refuses([](auto& s) { s.findings.resize(plan::kMaxFindings + 1); }, "too many findings"));
}

// The record takes a reported end even if the begin was not reported; the state is kEnded only when the ingest has all
// its seconds.
TEST(JobRecord, an_end_may_be_known_before_all_is_counted) {
  JobRecord record = good_record();
  for (AssignmentRecord& assignment : record.assignments) {
    assignment.end = AssignmentEnd{AssignmentOutcome::kCrashed, "signal 9", 7, Duration::seconds(7)};
  }
  EXPECT_TRUE(check_record(record));
}

TEST(JobRecord, each_state_of_an_assignment_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kAssignmentStates; ++i) names.insert(to_string(static_cast<AssignmentState>(i)));
  EXPECT_EQ(names.size(), kAssignmentStates);
  EXPECT_EQ(to_string(AssignmentState::kOffered), "offered");
  EXPECT_EQ(to_string(AssignmentState::kGone), "gone");
}

}  // namespace
}  // namespace bellwether::dispatch
