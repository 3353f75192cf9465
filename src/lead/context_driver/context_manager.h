// What makes contexts: it gets the requests that its node leads, one job for each attempt. A node has one; which one is
// chosen where the node is put together.
#pragma once

#include <string>

#include "core/runtime/runtime.h"
#include "election/context/duty_events.h"

namespace bellwether::cluster {

struct ContextJob {
  context_lead::Request request;
  // To be handed on with every act, so that what the job acts upon can refuse attempts that were succeeded.
  context_lead::AttemptFence fence;
};

struct ContextJobEnd {
  context_lead::JobEnded::End end = context_lead::JobEnded::End::kDone;
  std::string reason;  // of a failure
  std::string result;  // of what is done; at most kMostResultBytes
};

class ContextManager {
 public:
  virtual ~ContextManager() = default;
  // Valid for as long as it lives.
  virtual const context_lead::ManagerConfig& config() const = 0;
  // Until nothing of the job is left, in this process or in others. With `stop` it ends in good order, with `kill` at
  // once. Many run at a time, at most config().slots and those that are being killed.
  virtual runtime::task<ContextJobEnd> run(ContextJob job, runtime::Cancellation* stop,
                                           runtime::Cancellation* kill) = 0;
  // Nothing of any job may be left at this instant of the boot clock, whatever becomes of this process. Moved on while
  // the node leads, and never asked for in vain: a job that would begin after it does not.
  virtual void set_term_end(Instant end) = 0;
};

}  // namespace bellwether::cluster
