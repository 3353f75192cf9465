// A share of the load in a process of its own, as the worker sees it: so that a scenario that crashes or does not end
// takes nobody else along, and can be killed. ChildShares are the real ones; a simulator has its own.
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
#include "jobs/share/share_order.h"
#include "load/plan/plan.h"

namespace bellwether::node {

struct ShareEnd {
  enum class How : uint8_t {
    kCompleted,
    kStopped,      // it was asked to
    kAborted,      // a step with `on_error: abort` failed
    kTimedOut,     // the timeout of its workflow was over
    kNotPrepared,  // it could not be started, or not prepared
    kCrashed,      // its process ended by itself, or said what makes no sense and was killed for it
    kKilled,       // by kill()
  };
  How how = How::kCompleted;
  std::string detail;  // for people: the step of kAborted, the timeout of kTimedOut, what is wrong for kNotPrepared,
                       // how it ended for kCrashed
  Duration elapsed;    // from the start of the clock to the end: of the first four
  std::vector<plan::Provided> provided = {};  // for other workflows
  std::vector<std::string> notes = {};        // see dispatch::ShareEnd
  std::vector<plan::Finding> findings = {};   // the same
};
std::string_view to_string(ShareEnd::How how);

class ShareProcess {
 public:
  // Called from within the loop, never from within start(), begin(), stop(), hand_over(), scale() and kill().
  struct Listener {
    // It can begin, or why not: then it ends. Not called when it ends before it is known.
    Callback<void(Status prepared)> on_prepared;
    // The seconds of the clock, see ChildSecond. `window` was not looked into.
    Callback<void(uint64_t second, std::string window, Duration covered)> on_second;
    Callback<void(const ChildCounters& counters)> on_counters;
    // Its process is gone, and all that it had told is told. The last call; the share may be destroyed in this one,
    // and in no other.
    Callback<void(const ShareEnd& end)> on_ended;
  };

  // Ends it at once; its listener hears nothing any more.
  virtual ~ShareProcess() = default;

  // See vuser::Engine::run(). `start` is on the monotonic clock of the runtime. REQUIRES on_prepared() without error;
  // once.
  virtual void begin(Instant start, Duration resume_at = Duration::zero()) = 0;
  // At any time, as often as asked; the hardest counts. One that has not begun ends either way.
  virtual void stop(bool graceful) = 0;
  // See vuser::Engine::hand_over(). After begin().
  virtual void hand_over(Duration at) = 0;
  // See vuser::Engine::scale(), of its workflow.
  virtual void scale(uint32_t vus) = 0;
  // It may be killed soon: it tells what it has measured, also where a part of it lacks. Without effect unless it runs.
  virtual void save() = 0;
  // Without asking it: what it has not told yet is lost.
  virtual void kill() = 0;
  // 0 before it is started.
  virtual int64_t pid() const = 0;
};

class ShareFactory {
 public:
  virtual ~ShareFactory() = default;
  // Begins to prepare it. `listener` outlives the share. REQUIRES parts, processors and a bundle within the limits of
  // share_order.h.
  virtual std::unique_ptr<ShareProcess> start(ChildOrder order, ShareProcess::Listener listener) = 0;
};

// Shares as child processes: this executable again, with the arguments `share --socket N`, which must lead to
// share_main(). One thread, that of the runtime.
class ChildShares final : public ShareFactory {
 public:
  explicit ChildShares(runtime::Runtime& runtime) : runtime_(runtime) {}
  std::unique_ptr<ShareProcess> start(ChildOrder order, ShareProcess::Listener listener) override;

 private:
  runtime::Runtime& runtime_;
  runtime::Scope starting_;  // processes on their way, also those of shares that are gone already
};

// The child process of a share: it reads its order from the socket to its worker, prepares, waits for the begin, makes
// its load, and tells each second of it. It needs nobody to go on, but ends at once when its worker is gone: there is
// nobody else who would have what it measures. Signals of a terminal do not end it, for that is the worker's to decide.

// Makes the plan of an order's bundle, or says what is wrong with it.
using PlanOf = Result<plan::Plan> (*)(std::string_view bundle);

// The whole life of the process. Takes the descriptor over. Error: the other end of the socket is no worker, or it
// said what makes no sense.
Status share_main(int socket_fd, PlanOf plan_of);

}  // namespace bellwether::node
