#include "jobs/dispatch/job_record.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>

#include "core/base/enum_names.h"
#include "load/plan/sequence.h"

namespace bellwether::dispatch {
namespace {

using Followers = uint16_t;  // a bit for each state

template <class State>
constexpr Followers any_of(std::initializer_list<State> states) {
  Followers bits = 0;
  for (const State state : states) bits = static_cast<Followers>(bits | (1u << static_cast<unsigned>(state)));
  return bits;
}

constexpr Followers after(JobState from) {
  using enum JobState;
  switch (from) {
    case kSubmitted: return any_of({kQueued, kFailed, kCancelled});
    case kQueued: return any_of({kDispatching, kFailed, kCancelling, kTimedOut});
    // Back into the queue when the workers that it was to get are gone.
    case kDispatching: return any_of({kRunning, kQueued, kFailed, kCancelling, kTimedOut});
    case kRunning: return any_of({kCompleting, kCancelling, kTimedOut});
    case kCompleting: return any_of({kCompleted, kPartial, kFailed, kCancelling, kTimedOut});
    case kCancelling: return any_of({kCancelled});
    case kCompleted:
    case kPartial:
    case kFailed:
    case kCancelled:
    case kTimedOut: return 0;
  }
  return 0;
}

constexpr Followers after(WorkflowState from) {
  using enum WorkflowState;
  switch (from) {
    case kPending: return any_of({kAssigned, kFailed, kCancelled, kTimedOut, kSkipped});
    case kAssigned: return any_of({kRunning, kRetrying, kFailed, kCancelled, kTimedOut});
    case kRunning: return any_of({kCompleted, kRetrying, kFailed, kCancelled, kTimedOut});
    case kRetrying: return any_of({kAssigned, kRunning, kFailed, kCancelled, kTimedOut});
    case kCompleted:
    case kFailed:
    case kCancelled:
    case kTimedOut:
    case kSkipped: return 0;
  }
  return 0;
}

}  // namespace

bool may_become(JobState from, JobState to) { return (after(from) >> static_cast<unsigned>(to) & 1) != 0; }
bool may_become(WorkflowState from, WorkflowState to) { return (after(from) >> static_cast<unsigned>(to) & 1) != 0; }

namespace {

bool is_span(Duration span) { return span >= Duration::zero() && span <= kLongestSpan; }
bool is_moment(WallTime at) { return at.unix_ns >= 0 && at <= kLatestTime; }

// The fault; null if all is well.
const char* wrong_with(const WorkflowRecord& workflow) {
  if (static_cast<std::size_t>(workflow.state) >= kWorkflowStates) return "an unknown state";
  if (workflow.parts > kMaxParts) return "too many parts";
  if (workflow.base_second > kMaxSeconds) return "an impossible second";
  return nullptr;
}

const char* wrong_with(const AssignmentEnd& end) {
  if (static_cast<std::size_t>(end.outcome) >= kAssignmentOutcomes) return "an unknown outcome";
  if (end.last_number > kMaxSeconds) return "an impossible number of its stream";
  if (!is_span(end.ran)) return "an impossible time";
  return nullptr;
}

const char* wrong_with(const AssignmentRecord& assignment, const JobRecord& record) {
  if (assignment.id == AssignmentId() || assignment.id.value() > record.last_assignment)
    return "an id that was never assigned";
  if (assignment.workflow >= record.workflows.size()) return "a workflow that does not exist";
  if (!is_worker_name(assignment.worker)) return "an invalid name of a worker";
  if (!is_good(assignment.parts)) return "invalid parts";
  if (assignment.cores > kMaxParts) return "too many cores";
  if (static_cast<std::size_t>(assignment.state) >= kAssignmentStates) return "an unknown state";
  if (assignment.from > kMaxSeconds) return "an impossible second";
  if (!is_span(assignment.lost_from) || !is_span(assignment.extended)) return "an impossible time";
  using enum AssignmentState;
  if (assignment.state == kRunning && !assignment.streams) return "the state running without a stream";
  if (assignment.state == kEnded && !assignment.end) return "the state ended without an end";
  if (assignment.follows >= assignment.id) return "a predecessor that did not exist before it";
  if (assignment.until > kMaxSeconds) return "an impossible second";
  if (assignment.handed_over && (assignment.until == 0 || !assignment.streams))
    return "a hand-over without a second or a stream";
  if (!is_span(assignment.rows.at)) return "an impossible time";
  if (assignment.left > assignment.iterations) return "more remaining iterations than it started with";
  return assignment.end ? wrong_with(*assignment.end) : nullptr;
}

const char* wrong_with(const JobRecord& record) {
  if (!is_bundle_hash(record.bundle)) return "an invalid hash of its bundle";
  if (static_cast<std::size_t>(record.state) >= kJobStates) return "an unknown state";
  if (!is_moment(record.submitted) || !is_moment(record.started) || !is_moment(record.ended) ||
      !is_span(record.elapsed)) {
    return "an impossible time";
  }
  if (record.stop && (static_cast<std::size_t>(record.stop->cause) >= kStopCauses ||
                      static_cast<std::size_t>(record.stop->how) >= kStopHows)) {
    return "a stop with an unknown cause or manner";
  }
  if (record.workflows.size() > kMaxWorkflows) return "too many workflows";
  if (record.assignments.size() > kMaxAssignments) return "too many assignments";
  if (record.losses.size() > kMaxLosses) return "too many losses";
  if (record.events.size() > kMaxJobEvents) return "too many events";
  if (record.findings.size() > plan::kMaxFindings) return "too many findings";
  for (const auto* witnesses : {&record.witnesses, &record.witnesses_before}) {
    if (witnesses->size() > kMaxWitnesses) return "too many witnesses";
    for (const Witness& witness : *witnesses) {
      if (!is_worker_name(witness.worker) || witness.life == 0) return "a witness without a name or a life";
    }
  }
  if (!std::all_of(record.findings.begin(), record.findings.end(), plan::is_possible)) return "an impossible finding";
  for (const plan::Loss& loss : record.losses) {
    // In this form it also refuses NaN.
    if (!(loss.ratio >= 0 && loss.ratio <= 1)) return "a loss whose ratio is not between 0 and 1";
    if (!is_span(loss.from) || !is_span(loss.to) || loss.to < loss.from) return "a loss that ends before it begins";
  }
  const auto early = [](const JobEvent& event) { return !is_span(event.at); };
  if (std::any_of(record.events.begin(), record.events.end(), early)) return "an event at an impossible time";
  return nullptr;
}

}  // namespace

JobSpec spec_of(const plan::Plan& plan) {
  JobSpec spec;
  for (std::size_t i = 0; i < plan.workflows.size(); ++i) {
    const plan::Workflow& workflow = plan.workflows[i];
    WorkflowSpec& one = spec.emplace_back();
    static_cast<plan::Links&>(one) = plan::links_of(workflow);
    one.is_test = plan::is_test(plan, static_cast<uint16_t>(i));
    one.priority = workflow.priority;
    one.length = workflow.start_time;
    one.graceful_stop = workflow.graceful_stop;
    one.on_overtime = workflow.on_overtime;
    one.timeout = workflow.timeout;
    const plan::ExecutorFacts facts = plan::facts_of(workflow.executor);
    one.vus = facts.vus_most;
    one.length = std::holds_alternative<plan::Once>(workflow.executor) ? Duration() : one.length + facts.length;
    const auto* open = std::get_if<plan::ArrivalRate>(&workflow.executor);
    if (const auto* counted = std::get_if<plan::Iterations>(&workflow.executor)) one.counted = *counted;
    if (const auto* told = std::get_if<plan::ExternallyControlled>(&workflow.executor)) one.told_vus = told->vus;
    one.endless = facts.endless;
    one.open_model = facts.open_model;
    one.takes_rows = std::any_of(workflow.feeds.begin(), workflow.feeds.end(),
                                 [](const plan::Feed& feed) { return feed.pick == plan::Feed::Pick::kSequential; });
    one.rebalance = open != nullptr && open->users.rebalance;
  }
  return spec;
}

std::string_view to_string(AssignmentState state) {
  return EnumNames<AssignmentState>("offered", "ready", "running", "stopping", "ended", "gone")[state];
}

Status check_record(const JobRecord& record) {
  if (!is_job_id(record.id)) return fail(Errc::kInvalid, "the record of a job with an invalid id");
  const std::string whose = fmt::format("the record of job {} has ", record.id);
  if (const char* wrong = wrong_with(record)) return fail(Errc::kInvalid, whose + wrong);
  for (std::size_t i = 0; i < record.workflows.size(); ++i) {
    const char* wrong = wrong_with(record.workflows[i]);
    if (wrong) return fail(Errc::kInvalid, "{}workflow {} with {}", whose, i, wrong);
  }
  for (const AssignmentRecord& assignment : record.assignments) {
    const char* wrong = wrong_with(assignment, record);
    if (wrong) return fail(Errc::kInvalid, "{}assignment {} with {}", whose, assignment.id.value(), wrong);
  }
  // JobBook::find() relies on it.
  const auto ascend = [](const AssignmentRecord& one, const AssignmentRecord& next) { return one.id < next.id; };
  if (std::ranges::adjacent_find(record.assignments, std::not_fn(ascend)) != record.assignments.end())
    return fail(Errc::kInvalid, whose + "assignments whose ids do not ascend");
  return {};
}

std::string how_lost(const AssignmentRecord& assignment) {
  const bool failed = assignment.end && is_failure(assignment.end->outcome);
  return fmt::format("worker '{}' {}", assignment.worker,
                     has_left(assignment)           ? "left"
                     : failed                       ? "lost its process"
                     : lost_its_process(assignment) ? "lost the process of an assignment"
                                                    : "was lost");
}

}  // namespace bellwether::dispatch

namespace bellwether::client {

std::string_view to_string(JobState state) {
  return EnumNames<JobState>("submitted", "queued", "dispatching", "running", "completing", "cancelling", "completed",
                             "partial", "failed", "cancelled", "timed_out")[state];
}
std::string_view to_string(WorkflowState state) {
  return EnumNames<WorkflowState>("pending", "assigned", "running", "retrying", "completed", "failed", "cancelled",
                                  "timed_out", "skipped")[state];
}
bool has_ended(JobState state) { return dispatch::after(state) == 0; }
bool has_ended(WorkflowState state) { return dispatch::after(state) == 0; }

}  // namespace bellwether::client
