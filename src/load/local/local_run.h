// A run on this machine: the load of all parts of a plan, and a control thread (the caller's) that adds up their
// counts, watches thresholds and decides when to stop. A dependent workflow begins with the values that others left for
// it, when all workflows that can run before it have ended.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/callback.h"
#include "core/base/result.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "load/aggregate/totals.h"
#include "load/aggregate/verdict.h"
#include "load/local/load_group.h"
#include "load/local/self_watch.h"
#include "load/metrics/window.h"
#include "load/plan/plan.h"
#include "load/plan/sequence.h"
#include "load/report/run_report.h"
#include "load/script/loader.h"

namespace bellwether::node {

struct LocalOptions {
  uint32_t cores = 1;    // for load threads, each on one
  std::vector<int> pin;  // processors to pin them to, in turn; empty: the scheduler decides
  uint64_t seed = 0;     // 0: from the operating system
  script::lua::Permissions scripts;
  // Both must outlive the run; nullptr: none.
  RequestLog* request_log = nullptr;
  const http1::ExchangeWatch* watch = nullptr;
};

class LocalRun final : public LoadGroup::Listener {
 public:
  // Called on the control thread.
  struct Observer {
    Callback<void(const aggregate::Totals& totals)> second_over;
    // Each second before it is over, and the last one too: the counts of all threads in it.
    Callback<void(const metrics::Window& window, Duration covered)> measured;
    // An event that will be among events().
    Callback<void(const report::Event& event)> happened;
  };

  // All must outlive the run. Without an observer, none.
  LocalRun(runtime::EpollRuntime& control, const plan::Plan& plan, LocalOptions options,
           std::optional<Observer> observer = {});

  // Makes the threads and prepares them. Fails on any error that shows before the first request.
  Status prepare();
  // Runs to the end. Once, after prepare().
  runtime::task<void> run();

  // Ends the run: the first call lets iterations finish within graceful_stop, the second ends at once.
  void interrupt(aggregate::Ending why, std::string detail);

  // The first call lets iterations finish within graceful_stop, the second ends at once. For a run without an end of
  // time or count this is the planned end; any other run counts as cancelled.
  void stop(std::string detail);
  bool stopping() const { return interrupts_ > 0; }

  // During the run. A paused run begins nothing; see vuser::Engine.
  void pause();
  void resume();
  bool paused() const { return paused_; }
  // Sets the number of virtual users of an externally controlled workflow; with no name, the only one. kNotFound or
  // kInvalid with the problem.
  Status scale(const std::string& workflow, uint32_t vus);
  // The wanted number of virtual users of each externally controlled workflow.
  const std::map<uint16_t, uint32_t>& wanted() const { return wanted_; }
  // From its start until now.
  Duration running_for() const;

  const aggregate::Totals& totals() const { return totals_; }
  // After run().
  aggregate::Ending ending() const { return ending_; }
  // Of the ending, in words; may be empty.
  const std::string& why() const { return why_; }
  const std::vector<report::Event>& events() const { return events_; }
  // The generator's findings about itself.
  const std::vector<aggregate::Finding>& findings() const { return itself_.findings(); }
  std::vector<report::WorkflowState> workflow_states() const;
  WallTime started_at() const { return started_at_; }
  Duration elapsed() const { return elapsed_; }
  // The most cores that make load at the same time.
  uint32_t cores() const { return cores_; }

 private:
  // Workflows that run side by side.
  struct Stage {
    std::vector<uint16_t> workflows;
    std::vector<plan::CoreGrant> grants;  // of cores for each alone; none: they share all of them
    std::unique_ptr<plan::Plan> plan;     // with the values of earlier workflows; else that of the run
    std::unique_ptr<LoadGroup> group;     // if it uses values: from its begin on
  };
  struct Ran {
    std::optional<Duration> began;  // since the start of the run
    Duration elapsed;
    bool timed_out = false;
    std::string skipped_because;
  };

  std::vector<vuser::EngineAssignment> assignments_of(const Stage& stage) const;
  std::unique_ptr<LoadGroup> group_for(const Stage& stage, const plan::Plan& plan);
  bool uses_values(const Stage& stage) const;
  bool runs_all_the_same(const Stage& stage) const;
  plan::WorkflowProgress progress(uint16_t workflow) const;
  bool is_skipped(uint16_t workflow);
  Status leave_out_skipped(Stage& stage);
  Status give_values(Stage& stage);
  void end_stage(const Stage& stage);
  void second_over(const metrics::Window& window, Duration covered) override;
  void aborted_by(const std::string& step) override;
  void noted(const std::string& text) override;
  void timed_out(uint16_t workflow) override;
  void note(std::string kind, std::string detail);
  std::string timeout_of(uint16_t workflow) const;
  static runtime::task<void> watch_timeout(LocalRun* self, runtime::Cancellation* cancel);

  runtime::EpollRuntime& control_;
  const plan::Plan& plan_;
  LocalOptions options_;
  std::optional<Observer> observer_;
  aggregate::Totals totals_;
  script::Loader programs_;
  std::vector<Stage> stages_;
  const Stage* stage_ = nullptr;  // that runs, or ran last
  std::vector<Ran> workflows_;
  std::vector<plan::Links> links_;
  plan::Values values_;
  std::vector<report::Event> events_;
  aggregate::Ending ending_ = aggregate::Ending::kCompleted;
  std::string why_;
  std::map<uint16_t, uint32_t> wanted_;
  uint32_t cores_;
  SelfWatch itself_;
  bool paused_ = false;
  bool going_ = false;
  int interrupts_ = 0;
  Instant start_;
  Duration elapsed_;
  WallTime started_at_;
};

}  // namespace bellwether::node
