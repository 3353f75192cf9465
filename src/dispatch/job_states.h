// The lives of a job and of its workflows: which state may follow which. A move that is not in the tables is refused,
// so nothing that comes late or twice can bring back what has ended.
//
//   job        submitted → queued → dispatching → running → completing → completed, partial, failed
//   workflow   pending → assigned → running → completed, failed
//
// and on the way of both: cancelling, cancelled, timed out. Cancelling wins over a completion that is not recorded yet,
// and loses against one that is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace bellwether::dispatch {

enum class JobState : uint8_t {
  kSubmitted,    // received, not looked at yet
  kQueued,       // valid, and waits for cores
  kDispatching,  // its first workflows are being given to workers
  kRunning,
  kCompleting,  // all workflows have ended; the last results are being collected
  kCancelling,  // workers are being told to stop
  kCompleted,
  kPartial,  // has ended, and some of its workflows did not complete
  kFailed,   // no test workflow has completed, or it never began
  kCancelled,
  kTimedOut,
};
inline constexpr std::size_t kJobStates = 11;

enum class WorkflowState : uint8_t {
  kPending,   // what it depends on has not ended, or there is no room yet
  kAssigned,  // offered to workers
  kRunning,
  kRetrying,  // a worker has refused its share, or is dead: it is to be assigned again
  kCompleted,
  kFailed,
  kCancelled,
  kTimedOut,
  kSkipped,  // what it depends on did not complete
};
inline constexpr std::size_t kWorkflowStates = 9;

std::string_view to_string(JobState state);
std::string_view to_string(WorkflowState state);
// The names that to_string() gives; nothing for others.
std::optional<JobState> job_state_named(std::string_view name);
std::optional<WorkflowState> workflow_state_named(std::string_view name);

bool may_become(JobState from, JobState to);
bool may_become(WorkflowState from, WorkflowState to);
// Nothing follows it.
bool is_final(JobState state);
bool is_final(WorkflowState state);

// A state that only moves where it may.
template <class State>
class Life {
 public:
  explicit Life(State state = State()) : state_(state) {}
  State state() const { return state_; }
  bool over() const { return is_final(state_); }

  // kInvalid when it may not, with both states; nothing is changed then. Becoming what it is already is no move.
  Status become(State to) {
    if (to == state_) return {};
    if (!may_become(state_, to)) {
      return fail(Errc::kInvalid,
                  "what is " + std::string(to_string(state_)) + " does not become " + std::string(to_string(to)));
    }
    state_ = to;
    return {};
  }

 private:
  State state_;
};

}  // namespace bellwether::dispatch
