#include "jobs/dispatch/job_sheet.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "load/plan/stages.h"

namespace bellwether::dispatch {
namespace {

constexpr std::array<std::string_view, kJobStates> kJobNames{"submitted",  "queued",     "dispatching", "running",
                                                             "completing", "cancelling", "completed",   "partial",
                                                             "failed",     "cancelled",  "timed_out"};
constexpr std::array<std::string_view, kWorkflowStates> kWorkflowNames{
    "pending", "assigned", "running", "retrying", "completed", "failed", "cancelled", "timed_out", "skipped"};

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

template <class State, std::size_t N>
std::optional<State> named(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<State>(i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<JobState> job_state_named(std::string_view name) { return named<JobState>(kJobNames, name); }
std::optional<WorkflowState> workflow_state_named(std::string_view name) {
  return named<WorkflowState>(kWorkflowNames, name);
}

bool may_become(JobState from, JobState to) { return (after(from) >> static_cast<unsigned>(to) & 1) != 0; }
bool may_become(WorkflowState from, WorkflowState to) { return (after(from) >> static_cast<unsigned>(to) & 1) != 0; }

namespace {

constexpr std::array<std::string_view, kShareStates> kStates{"offered",  "ready", "running",
                                                             "stopping", "ended", "gone"};

bool is_span(Duration span) { return span >= Duration::zero() && span <= kLongestSpan; }
bool is_moment(WallTime at) { return at.unix_ns >= 0 && at <= kLatestTime; }

// The fault; null if all is well.
const char* wrong_with(const WorkflowSheet& workflow) {
  if (static_cast<std::size_t>(workflow.state) >= kWorkflowStates) return "a state that does not exist";
  if (workflow.parts > kMostParts) return "too many parts";
  if (workflow.base_second > kMostSeconds) return "a second that cannot be";
  return nullptr;
}

const char* wrong_with(const ShareEnd& end) {
  if (static_cast<std::size_t>(end.outcome) >= kShareOutcomes) return "an outcome that does not exist";
  if (end.last_number > kMostSeconds) return "a number of its stream that cannot be";
  if (!is_span(end.ran)) return "a time that cannot be";
  return nullptr;
}

const char* wrong_with(const ShareSheet& share, const JobSheet& sheet) {
  if (share.id == ShareId() || share.id.value() > sheet.last_share) return "an id that was never given";
  if (share.workflow >= sheet.workflows.size()) return "a workflow that is not there";
  if (!is_worker_name(share.worker)) return "a worker's name that is none";
  if (!is_good(share.parts)) return "parts that are none";
  if (share.cores > kMostParts) return "too many cores";
  if (static_cast<std::size_t>(share.state) >= kShareStates) return "a state that does not exist";
  if (share.from > kMostSeconds) return "a second that cannot be";
  if (!is_span(share.lost_from) || !is_span(share.extended)) return "a time that cannot be";
  using enum ShareState;
  if (share.state == kRunning && !share.streams) return "no stream, and it runs";
  if (share.state == kEnded && !share.end) return "no end, and it has ended";
  if (share.follows >= share.id) return "a share to follow that was not there before";
  if (share.until > kMostSeconds) return "a second that cannot be";
  if (share.handed_over && (share.until == 0 || !share.streams)) return "nothing to hand over, and it has";
  if (share.left > share.iterations) return "more iterations left than it had";
  return share.end ? wrong_with(*share.end) : nullptr;
}

const char* wrong_with(const JobSheet& sheet) {
  if (!is_bundle_hash(sheet.bundle)) return "a hash of its bundle that is none";
  if (static_cast<std::size_t>(sheet.state) >= kJobStates) return "a state that does not exist";
  if (!is_moment(sheet.submitted) || !is_moment(sheet.started) || !is_moment(sheet.ended) || !is_span(sheet.elapsed)) {
    return "a time that cannot be";
  }
  if (sheet.stop && (static_cast<std::size_t>(sheet.stop->cause) >= kStopCauses ||
                     static_cast<std::size_t>(sheet.stop->how) >= kStopHows)) {
    return "a stop for a reason or in a way that does not exist";
  }
  if (sheet.workflows.size() > kMostWorkflows) return "too many workflows";
  if (sheet.shares.size() > kMostShares) return "too many shares";
  if (sheet.losses.size() > kMostLosses) return "too many losses";
  if (sheet.events.size() > kMostJobEvents) return "too many events";
  if (sheet.findings.size() > plan::kMostFindings) return "too many findings";
  if (!std::all_of(sheet.findings.begin(), sheet.findings.end(), plan::is_possible)) return "a finding that cannot be";
  for (const plan::Loss& loss : sheet.losses) {
    // In this form it also refuses NaN.
    if (!(loss.share >= 0 && loss.share <= 1)) return "a loss of less than nothing or more than all";
    if (!is_span(loss.from) || !is_span(loss.to) || loss.to < loss.from) return "a loss that ends before it begins";
  }
  const auto early = [](const JobEvent& event) { return !is_span(event.at); };
  if (std::any_of(sheet.events.begin(), sheet.events.end(), early)) return "an event at a time that cannot be";
  return nullptr;
}

bool has_twins(const std::vector<ShareSheet>& shares) {
  std::vector<ShareId> ids;
  ids.reserve(shares.size());
  for (const ShareSheet& share : shares) ids.push_back(share.id);
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) != ids.end();
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
    one.rebalance = open != nullptr && open->users.rebalance;
  }
  return spec;
}

std::string_view to_string(ShareState state) { return kStates.at(static_cast<std::size_t>(state)); }

Status check_sheet(const JobSheet& sheet) {
  if (!is_job_id(sheet.id)) return fail(Errc::kInvalid, "the sheet of a job whose id is none");
  const std::string whose = fmt::format("the sheet of job {} has ", sheet.id);
  if (const char* wrong = wrong_with(sheet)) return fail(Errc::kInvalid, whose + wrong);
  for (std::size_t i = 0; i < sheet.workflows.size(); ++i) {
    const char* wrong = wrong_with(sheet.workflows[i]);
    if (wrong) return fail(Errc::kInvalid, "{}workflow {} with {}", whose, i, wrong);
  }
  for (const ShareSheet& share : sheet.shares) {
    const char* wrong = wrong_with(share, sheet);
    if (wrong) return fail(Errc::kInvalid, "{}share {} with {}", whose, share.id.value(), wrong);
  }
  if (has_twins(sheet.shares)) return fail(Errc::kInvalid, whose + "two shares with one id");
  return {};
}

}  // namespace bellwether::dispatch

namespace bellwether::client {

std::string_view to_string(JobState state) { return dispatch::kJobNames.at(static_cast<std::size_t>(state)); }
std::string_view to_string(WorkflowState state) { return dispatch::kWorkflowNames.at(static_cast<std::size_t>(state)); }
bool has_ended(JobState state) { return dispatch::after(state) == 0; }
bool has_ended(WorkflowState state) { return dispatch::after(state) == 0; }

}  // namespace bellwether::client
