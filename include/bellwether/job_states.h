// The states of a job and of its workflows: the same for the job's manager, on the wire, and for its clients.
#pragma once

#include <string_view>

namespace bellwether::client {

enum class JobState : unsigned char {
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
enum class WorkflowState : unsigned char {
  kPending,   // its dependencies have not ended, or the cluster has no room yet
  kAssigned,  // offered to workers
  kRunning,
  kRetrying,  // a worker has refused its share, or is dead: it is to be assigned again
  kCompleted,
  kFailed,
  kCancelled,
  kTimedOut,
  kSkipped,  // a dependency did not complete
};

std::string_view to_string(JobState state);  // "submitted", "timed_out" …
std::string_view to_string(WorkflowState state);
// Nothing follows it.
bool has_ended(JobState state);
bool has_ended(WorkflowState state);

}  // namespace bellwether::client
