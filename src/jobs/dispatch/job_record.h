// The job record: all that is known of a job, as its register keeps it. Its owner writes it, a quorum accepts it before
// any node acts on it, and another manager can continue from it. Measurements are elsewhere
// (jobs/ingest/run_ingest.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bellwether/client_types.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/resilience/extension.h"
#include "jobs/dispatch/assignment.h"
#include "load/plan/finding.h"
#include "load/plan/plan.h"
#include "load/plan/provision.h"
#include "load/plan/sequence.h"

namespace bellwether::dispatch {

// The plan as the owner sees it: the workflows, their dependencies, their durations.
struct WorkflowSpec : plan::Links {
  plan::Priority priority = plan::Priority::kAuto;
  bool is_test = true;
  uint32_t vus = 1;  // the maximum at once
  Duration length;   // of its clock, to its planned end; zero: it runs once, without a limit
  Duration graceful_stop;
  // If it does a number of iterations, others continue with those that a lost worker left.
  std::optional<plan::Iterations> counted;
  // The users at its begin, if it is externally controlled; then `vus` is the maximum.
  std::optional<uint32_t> told_vus;
  bool takes_rows = false;  // of data files, one after the other
  bool open_model = false;  // its arrivals follow a schedule
  bool endless = false;     // it runs until it is stopped, and is then complete
  bool rebalance = false;   // its parts spread onto workers that join while it runs
  plan::OnOvertime on_overtime = plan::OnOvertime::kKill;
  std::optional<Duration> timeout;  // of its clock, from its begin: its workers then end it at once
};
using JobSpec = std::vector<WorkflowSpec>;

JobSpec spec_of(const plan::Plan& plan);

// Equal for all jobs of a cluster, except the timeout.
struct JobRules {
  Duration worker_wait = Duration::seconds(60);       // a job without any worker fails after this time
  Duration dispatch_limit = Duration::seconds(300);   // a workflow of which no worker runs a part ends then
  uint32_t dispatch_attempts = 5;                     // of a group of workflows, before they fail
  Duration dispatch_pause = Duration::millis(500);    // after the first of them; it doubles with each
  Duration exclusion = Duration::seconds(10);         // no new work for a worker that died, refused or was not reached
  uint32_t retries_most = 3;                          // of a part, because its workers died
  Duration offer_limit = Duration::seconds(15);       // for the answer to an offer
  Duration adopt_limit = Duration::seconds(5);        // a new owner waits this time for reports of workers
  Duration head_start = Duration::millis(25);         // from the last assignment's being ready to the begin of all
  Duration layer_sync_limit = Duration::seconds(30);  // for a quorum, before dependent workflows may begin
  Duration hand_over_lead = Duration::millis(1500);   // from all ready to the hand-over, at least
  Duration hand_over_least = Duration::millis(300);   // before it, all followers must have confirmed
  Duration rebalance_least = Duration::seconds(5);    // no spreading in this time before a workflow's end
  Duration rebalance_pause = Duration::seconds(10);   // after a failed attempt
  Duration kill_grace = Duration::seconds(5);
  Duration isolation_limit = Duration::seconds(60);
  Duration permit = Duration::seconds(3);           // of a worker to make load, from before it asked
  Duration silence = Duration::seconds(2);          // of a worker; then its owner has its permits denied
  Duration overtime = Duration::seconds(60);        // beyond the planned end and graceful_stop
  Duration result_limit = Duration::seconds(30);    // then, for the result of a live worker
  std::optional<Duration> timeout;                  // of this job, from the start of its run: it ends at once
  resilience::ExtensionSettings extensions;         // of an assignment after all that, if its worker asks
  Duration teardown_limit = Duration::minutes(10);  // of a stopped job, from the end of its load
};

// The states of a job and of its workflows, and the allowed changes. A change that is not in the tables is refused, so
// a late or repeated message cannot revive what has ended.
//
//   job        submitted → queued → dispatching → running → completing → completed, partial, failed
//   workflow   pending → assigned → running → completed, failed; retrying: to be assigned again; skipped: never began
//
// Both may end cancelled or timed out; a job is cancelling before it is cancelled. Cancelling wins over a completion
// that is not recorded yet, and loses against a recorded one.

using client::JobState;
using client::WorkflowState;
inline constexpr std::size_t kJobStates = 11;
inline constexpr std::size_t kWorkflowStates = 9;

bool may_become(JobState from, JobState to);
bool may_become(WorkflowState from, WorkflowState to);
inline bool is_final(JobState state) { return has_ended(state); }
inline bool is_final(WorkflowState state) { return has_ended(state); }

inline constexpr std::size_t kMaxWorkflows = 1'000;
inline constexpr std::size_t kMaxAssignments = 16'384;  // of one job, including the ended ones
inline constexpr std::size_t kMaxJobEvents = 200;       // the first half and the newest; others are dropped and counted
inline constexpr std::size_t kMaxLosses = 200;          // further ones are merged into the last
inline constexpr std::string_view kMergedLosses = "several losses, merged because the list is full";
inline constexpr std::size_t kMaxTextBytes = 200;  // of a detail, a cause, a name

struct WorkflowRecord {
  WorkflowState state = WorkflowState::kPending;
  std::string why;           // the reason for its state, if not plain
  uint32_t parts = 0;        // into which it was cut; 0: not yet
  uint32_t retries = 0;      // assignments that had to go to another worker
  uint64_t base_second = 0;  // of the run: where its clock begins, once it has begun
  bool begun = false;
  uint32_t vus = 0;       // that it is to have now, if externally controlled
  bool graceful = false;  // it was cancelled so: its running iterations may finish
  bool at_once = false;   // after that it was cancelled at once: they may not
  bool operator==(const WorkflowRecord&) const = default;
};

// An assignment, as its owner sees it.
enum class AssignmentState : uint8_t {
  kOffered,
  kReady,
  kRunning,
  kStopping,  // on an order
  kEnded,     // its worker reported the end, and the ingest has all its seconds
  kGone,      // its worker refused it, or is gone
};
inline constexpr std::size_t kAssignmentStates = 6;
std::string_view to_string(AssignmentState state);

struct AssignmentRecord {
  AssignmentId id;
  uint16_t workflow = 0;
  std::string worker;  // its name
  uint64_t life = 0;   // of the worker
  PartRange parts;
  uint32_t cores = 0;
  bool squeeze = false;
  AssignmentState state = AssignmentState::kOffered;
  uint64_t from = 0;     // the second of the run at which its stream begins
  bool streams = false;  // it has begun, so its stream exists
  Duration lost_from;    // if it is gone: since the start of the run, when its parts stopped
  std::optional<AssignmentEnd> end;
  AssignmentId follows;      // the assignment whose parts it takes over; 0: none
  uint64_t until = 0;        // second of the run from which its followers run its parts; 0: not settled
  bool handed_over = false;  // its worker has confirmed that it ends then
  uint32_t extensions = 0;   // grants of more time
  Duration extended;         // their sum
  uint64_t iterations = 0;   // how many it may begin, if its workflow counts them
  uint64_t left = 0;         // once it is gone: those that it did not begin, and others may
  bool unfenced = false;     // its worker does not say that it makes load only while it holds a permit
  plan::RowPoint rows;       // that others took before it; once it is gone: that it may have taken, too
  bool operator==(const AssignmentRecord&) const = default;
};

inline bool lost_its_process(const AssignmentRecord& assignment) {
  return assignment.end && (assignment.end->outcome == AssignmentOutcome::kEvicted ||
                            assignment.end->outcome == AssignmentOutcome::kLost);
}
// Its end, for the text of a loss.
std::string how_lost(const AssignmentRecord& assignment);
// Whether an assignment holds, or held, this part of the workflow.
inline bool has_part(const AssignmentRecord& assignment, uint16_t workflow, uint32_t part) {
  return assignment.workflow == workflow && part >= assignment.parts.first &&
         part - assignment.parts.first < assignment.parts.count;
}
// Of an assignment that is gone: its worker has left, or the owner has stopped it because no other worker had room.
inline bool has_left(const AssignmentRecord& assignment) {
  return assignment.end && (assignment.end->outcome == AssignmentOutcome::kLeft ||
                            assignment.end->outcome == AssignmentOutcome::kStopped);
}
inline bool is_failure(AssignmentOutcome outcome) {
  return outcome == AssignmentOutcome::kFailed || outcome == AssignmentOutcome::kCrashed ||
         outcome == AssignmentOutcome::kKilled;
}
// A worker runs it, or is to run it.
inline bool is_live(const AssignmentRecord& assignment) { return assignment.state < AssignmentState::kEnded; }

struct JobEvent {
  Duration at;         // since the start of the run; zero before it
  std::string kind;    // a stable word: "worker_lost"
  std::string detail;  // for people
  bool operator==(const JobEvent&) const = default;
};

// Why a job does not run to its planned end.
struct JobStop {
  // kPlanned: it runs until it is stopped.
  enum class Cause : uint8_t { kCancelled, kThreshold, kOnError, kTimeout, kPlanned };
  Cause cause = Cause::kCancelled;
  StopHow how = StopHow::kAtOnce;
  std::string by;       // the user who cancelled
  std::string why;      // in words
  uint64_t number = 0;  // of the cancellation, drawn by its client: a repeated message is no second one
  bool all = false;     // no teardown, or it is stopped with the rest
  bool operator==(const JobStop&) const = default;
};
inline constexpr std::size_t kStopCauses = 5;

struct JobRecord {
  std::string id;
  std::string name;    // of the scenario
  std::string by;      // the user who submitted it
  std::string bundle;  // hash of its inputs
  uint64_t seed = 0;
  WallTime submitted;
  uint64_t revision = 0;  // of this record; grows with each change
  JobState state = JobState::kSubmitted;
  std::string why;   // reason for its state
  WallTime started;  // of the run; 0: not yet
  Duration elapsed;  // of the run, once it has ended
  std::optional<JobStop> stop;
  uint32_t last_assignment = 0;
  // The workflows that had ended at the last border of layers that a quorum has let the job pass.
  uint64_t context_version = 0;
  std::vector<WorkflowRecord> workflows;  // in the order of the plan
  std::vector<AssignmentRecord> assignments;
  std::vector<plan::Loss> losses;
  std::vector<JobEvent> events;
  uint32_t events_dropped = 0;
  WallTime ended;
  std::vector<plan::Finding> findings = {};  // of its workers about themselves, by the clock of the run
  std::vector<Witness> witnesses = {};       // an odd number, once its first group is assigned
  uint64_t witnesses_since = 0;              // the first revision with these
  // Those before them, until every worker with an assignment knows the new ones: it may have permits of either.
  std::vector<Witness> witnesses_before = {};
  bool operator==(const JobRecord&) const = default;
};

// Whether an owner may write it, and another one continue from it. kInvalid names the fault: an invalid name or id, too
// many elements, a figure out of bounds, an assignment of an unknown workflow, a duplicate id or one above
// last_assignment, one that runs without a stream, one in kEnded without an end, one that follows itself or a later
// one, or a hand-over without a second. It does not check texts for people: their writer makes them fit.
Status check_record(const JobRecord& record);

}  // namespace bellwether::dispatch
