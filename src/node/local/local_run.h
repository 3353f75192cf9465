// A run on this machine: the load of all parts of a plan, and a control thread (the caller's) that adds up what they
// count, watches thresholds and decides when to stop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/totals.h"
#include "aggregate/verdict.h"
#include "base/result.h"
#include "metrics/window.h"
#include "node/local/load_group.h"
#include "plan/plan.h"
#include "report/run_report.h"
#include "runtime/epoll_runtime.h"

namespace bellwether::node {

struct LocalOptions {
  uint32_t cores = 1;    // load threads
  std::vector<int> pin;  // processors to pin them to, in turn; empty: the scheduler decides
  uint64_t seed = 0;     // 0: from the operating system
};

class LocalRun final : public LoadGroup::Listener {
 public:
  // Told on the control thread.
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void second_over(const aggregate::Totals& totals) = 0;
  };

  // All must outlive the run. `observer` may be nullptr.
  LocalRun(runtime::EpollRuntime& control, const plan::Plan& plan, LocalOptions options, Observer* observer);

  // Makes the threads and prepares them. Fails on anything that can be known before the first request.
  Status prepare();
  // Runs to the end. Once, after prepare().
  runtime::task<void> run();

  // Ends the run: the first call lets iterations finish within graceful_stop, the second ends at once.
  void interrupt(aggregate::Ending why, std::string detail);

  // After run().
  const aggregate::Totals& totals() const { return totals_; }
  aggregate::Ending ending() const { return ending_; }
  const std::vector<report::Event>& events() const { return events_; }
  WallTime started_at() const { return started_at_; }
  Duration elapsed() const { return group_.elapsed(); }
  uint32_t cores() const { return cores_; }

 private:
  void second_over(const metrics::Window& window, Duration covered) override;
  void aborted_by(const std::string& step) override;
  void note(std::string kind, std::string detail);

  runtime::EpollRuntime& control_;
  const plan::Plan& plan_;
  uint32_t cores_;
  Observer* observer_;
  aggregate::Totals totals_;
  LoadGroup group_;
  std::vector<report::Event> events_;
  aggregate::Ending ending_ = aggregate::Ending::kCompleted;
  int interrupts_ = 0;
  Instant start_;
  WallTime started_at_;
};

}  // namespace bellwether::node
