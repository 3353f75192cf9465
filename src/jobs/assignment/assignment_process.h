// An assignment in a separate process, as its worker sees it. So a scenario that crashes or does not end harms nothing
// else, and can be killed. ChildAssignments makes real processes; a simulator has another factory. One thread, that of
// the runtime.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/callback.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "jobs/assignment/assignment_order.h"
#include "load/plan/plan.h"

namespace bellwether::node {

struct AssignmentEnd {
  enum class How : uint8_t {
    kCompleted,
    kStopped,      // on request
    kAborted,      // a step with `on_error: abort` failed
    kTimedOut,     // at the timeout of its workflow
    kFenced,       // its permit ended, and with it the load
    kNotPrepared,  // it could not be started or prepared
    kCrashed,      // its process ended by itself, or was killed for an invalid message
    kKilled,       // by kill()
    kLost,         // somebody else killed its process
  };
  How how = How::kCompleted;
  std::string detail;  // for people: the step of kAborted, the timeout of kTimedOut, the fault of kNotPrepared,
                       // how kCrashed and kLost ended
  Duration elapsed;    // from the start of the clock to the end: of the first five
  std::vector<plan::Provided> provided = {};  // for other workflows
  std::vector<std::string> notes = {};        // see dispatch::AssignmentEnd
  std::vector<plan::Finding> findings = {};   // the same
};
std::string_view to_string(AssignmentEnd::How how);

class AssignmentProcess {
 public:
  // Called by the loop, never within another member.
  struct Listener {
    // It can begin, or the error after which it ends. Not called if it ends earlier.
    Callback<void(Status prepared)> on_prepared;
    // The seconds of the clock, see ChildSecond. `window` is unchecked.
    Callback<void(uint64_t second, std::string window, Duration covered)> on_second;
    Callback<void(const ChildCounters& counters)> on_counters;
    // Its process is gone, and all its reports have arrived. The last call; the assignment may be destroyed in this
    // one, and in no other.
    Callback<void(const AssignmentEnd& end)> on_ended;
  };

  // Kills it; its listener gets no further call.
  virtual ~AssignmentProcess() = default;

  // It may make load until then, by the boot clock; never(): without end, as before the first call. When that time has
  // come, it ends by itself: its worker need not run. Costs one write to memory; without effect after its end.
  virtual void permit(Instant until) = 0;
  // See vuser::Engine::run(). `start` is on the monotonic clock of the runtime. REQUIRES on_prepared() without error;
  // once.
  virtual void begin(Instant start, Duration resume_at = Duration::zero(), plan::RowPoint rows = {}) = 0;
  // At any time, and repeatedly; the hardest counts. An assignment that has not begun ends in both cases.
  virtual void stop(bool graceful) = 0;
  // See vuser::Engine::hand_over(). After begin().
  virtual void hand_over(Duration at) = 0;
  // See vuser::Engine::applied(). Without effect unless it runs.
  virtual void applied(uint64_t seconds) = 0;
  // See vuser::Engine::scale(), of its workflow.
  virtual void scale(uint32_t vus) = 0;
  // It may be killed soon: it reports all that it has measured, even incomplete seconds. Without effect unless it runs.
  virtual void save() = 0;
  // Kills the process: all that it has not reported is lost.
  virtual void kill() = 0;
  // 0 before it is started.
  virtual int64_t pid() const = 0;
};

class AssignmentFactory {
 public:
  virtual ~AssignmentFactory() = default;
  // Starts and prepares it. `listener` outlives the assignment. REQUIRES parts, processors and a bundle within the
  // limits of assignment_order.h.
  virtual std::unique_ptr<AssignmentProcess> start(ChildOrder order, AssignmentProcess::Listener listener) = 0;
};

// Assignments as child processes: this executable again, with the arguments `assignment --socket N --permit M`, which
// must lead to assignment_main(). One thread, that of the runtime.
class ChildAssignments final : public AssignmentFactory {
 public:
  explicit ChildAssignments(runtime::Runtime& runtime) : runtime_(runtime) {}
  std::unique_ptr<AssignmentProcess> start(ChildOrder order, AssignmentProcess::Listener listener) override;

 private:
  runtime::Runtime& runtime_;
  runtime::Scope starting_;  // processes that are starting, also those of destroyed assignments
};

// The child process of an assignment: it reads its order from the socket to its worker, prepares, waits for the begin,
// makes its load, and reports each second of it. It needs no further message, but its load ends with its permit, and it
// ends at once when its worker is gone, because no other process would get its measurements. Signals of a terminal do
// not end it; the worker decides.

// Makes the plan of an order's bundle and of the files beside it; an error names the fault.
using PlanOf = Result<plan::Plan> (*)(std::string_view bundle, const std::vector<ChildFile>& files);

// The whole life of the process. Takes ownership of the descriptors: of the socket, and of the page with its permit
// (assignment_socket.h), -1 without one: its load needs no permit then. Error: the other end of the socket is no
// worker, or it sent an invalid message; the page is none.
Status assignment_main(int socket_fd, int permit_fd, PlanOf plan_of);

}  // namespace bellwether::node
