// The load of one core: the virtual users of its share, their iterations and steps, and what is counted about them. One
// engine, one runtime, one thread; engines share nothing but the immutable plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metrics/window.h"
#include "plan/plan.h"
#include "protocol/http1/client.h"
#include "runtime/runtime.h"
#include "vuser/prepared_step.h"
#include "vuser/values.h"

namespace bellwether::vuser {

// Where an engine leaves its windows. Called on the engine's thread.
class WindowSink {
 public:
  virtual ~WindowSink() = default;
  // `full` is complete; returns an empty window to go on with, or nullptr when none is free: the engine then keeps
  // `full` and goes on filling it.
  virtual metrics::Window* exchange(metrics::Window* full) = 0;
  // A step with `on_error: abort` failed.
  virtual void abort_run(std::string_view step) = 0;
};

class Engine {
 public:
  // This engine runs part `part` of `parts` of the plan. Everything given must outlive it. `pool` feeds the windows'
  // histograms; `first` is the window to start with.
  Engine(runtime::Runtime& runtime, const plan::Plan& plan, uint32_t part, uint32_t parts, WindowSink& sink,
         metrics::PagePool& pool, metrics::Window* first);
  ~Engine();

  // Prepares all steps. Fails on what only shows now: a constant URL that is wrong, an unreadable CA file.
  Status prepare();
  // Runs the plan from `start` on (an instant of this runtime's clock) to its end. The last window is handed over
  // before it returns.
  runtime::task<void> run(Instant start);

  // No new iterations; those running may finish within their workflow's graceful_stop.
  void stop();
  // Everything ends now.
  void kill();

  // The loop was busy for this long between two waits.
  void note_turn(Duration busy) { window_->loop_lag.record(busy); }

 private:
  struct Vu;
  struct WorkflowRun;
  enum class Flow : uint8_t { kGoOn, kEndIteration, kEndVu };

  runtime::task<void> tick(Instant start);
  runtime::task<void> run_workflow(std::size_t index, Instant start);
  runtime::task<void> constant_vus(WorkflowRun& run, const plan::ConstantVus& executor);
  runtime::task<void> vu_loop(WorkflowRun& run, Vu& vu, Instant end, std::optional<Duration> pacing);
  runtime::task<void> arrivals(WorkflowRun& run, const plan::ConstantArrivalRate& executor);
  runtime::task<void> arrival_vu(WorkflowRun& run, Vu& vu);
  runtime::task<void> once(WorkflowRun& run);
  void begin_arrival(WorkflowRun& run, Vu& vu, Instant due);
  void next_arrival_or_rest(WorkflowRun& run, Vu& vu);
  void drop_expired(WorkflowRun& run, bool all);
  void charge_dropped(WorkflowRun& run, Duration waited);

  runtime::task<Flow> run_iteration(WorkflowRun& run, Vu& vu, Instant due);
  runtime::task<Flow> run_step(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due);
  runtime::task<Flow> run_call(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due);
  Flow run_action(Vu& vu, PreparedStep& step);
  Flow after_failure(const PreparedStep& step);
  bool record(PreparedStep& step, const http1::Response& response, Instant due, Values& values);
  RenderContext context_for(const Vu& vu, bool with_time);

  runtime::Runtime& runtime_;
  const plan::Plan& plan_;
  uint32_t part_;
  uint32_t parts_;
  WindowSink& sink_;
  metrics::PagePool& pool_;
  metrics::Window* window_;
  runtime::Cancellation killed_;   // ends everything at once
  runtime::Cancellation stopped_;  // ends waiting between iterations, and think time
  runtime::Cancellation ended_;    // ends the ticker
  JsonReader json_;
  http1::Client client_;
  std::vector<std::unique_ptr<WorkflowRun>> runs_;
  std::vector<std::unique_ptr<RequestText>> texts_;  // free ones
};

}  // namespace bellwether::vuser
