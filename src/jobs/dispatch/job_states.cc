#include "jobs/dispatch/job_states.h"

#include <array>
#include <cstdint>
#include <initializer_list>

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

}  // namespace bellwether::dispatch

namespace bellwether::client {

std::string_view to_string(JobState state) { return dispatch::kJobNames.at(static_cast<std::size_t>(state)); }
std::string_view to_string(WorkflowState state) { return dispatch::kWorkflowNames.at(static_cast<std::size_t>(state)); }
bool has_ended(JobState state) { return dispatch::after(state) == 0; }
bool has_ended(WorkflowState state) { return dispatch::after(state) == 0; }

}  // namespace bellwether::client
