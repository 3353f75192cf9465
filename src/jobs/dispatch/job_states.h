// The lives of a job and of its workflows: which state may follow which. A move that is not in the tables is refused,
// so nothing that comes late or twice can bring back what has ended.
//
//   job        submitted → queued → dispatching → running → completing → completed, partial, failed
//   workflow   pending → assigned → running → completed, failed
//
// and on the way of both: cancelling, cancelled, timed out. Cancelling wins over a completion that is not recorded yet,
// and loses against one that is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "bellwether/job_states.h"
#include "core/base/result.h"

namespace bellwether::dispatch {

using client::JobState;
using client::WorkflowState;
inline constexpr std::size_t kJobStates = 11;
inline constexpr std::size_t kWorkflowStates = 9;

// The names that to_string() gives; nothing for others.
std::optional<JobState> job_state_named(std::string_view name);
std::optional<WorkflowState> workflow_state_named(std::string_view name);

bool may_become(JobState from, JobState to);
bool may_become(WorkflowState from, WorkflowState to);
inline bool is_final(JobState state) { return has_ended(state); }
inline bool is_final(WorkflowState state) { return has_ended(state); }

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
