// The load of one core: the virtual users of its share, their iterations and steps, and what is counted about them. One
// engine, one runtime, one thread; engines share nothing but the immutable plan.
//
// The parts of a plan are independent of each other: each has its own virtual users and every n-th arrival, and knows
// them without asking anybody. So the parts may run in one process or on many machines, and a part whose machine died
// is gone on with elsewhere, from a point of its clock on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/http1/client.h"
#include "core/runtime/runtime.h"
#include "load/metrics/window.h"
#include "load/plan/context.h"
#include "load/plan/plan.h"
#include "load/vuser/prepared_step.h"
#include "load/vuser/program.h"
#include "load/vuser/tokens.h"
#include "load/vuser/values.h"

namespace bellwether::vuser {

// Where an engine leaves its windows. Called on the engine's thread.
class WindowSink {
 public:
  virtual ~WindowSink() = default;
  // `full` is complete; returns an empty window to go on with, or nullptr when none is free: the engine then keeps
  // `full` and goes on filling it. The last one is always taken.
  virtual metrics::Window* exchange(metrics::Window* full, bool last) = 0;
  // A step with `on_error: abort` failed.
  virtual void abort_run(std::string_view step) = 0;
  // What the program of a step says of itself: why it failed, say. A few times at most.
  virtual void note(std::string_view step, std::string_view text) = 0;
  // The timeout of a workflow is over, and what was left of it here is being ended. Once for each of them.
  virtual void timed_out(uint16_t workflow) = 0;
};

// What an engine runs of a plan: its part of each workflow, or of those that are named, when `parts` engines share
// them. A workflow has at most as many parts as it has users; one with fewer users is left out by the other engines.
// Windows have the shape of the whole plan either way.
struct EngineShare {
  uint32_t part = 0;
  uint32_t parts = 1;
  std::vector<uint16_t> workflows;  // none: all
  // That it may begin, of a workflow which counts them; none: as planned. Others have begun the rest of its parts.
  std::optional<uint64_t> iterations = std::nullopt;
};

// What an engine has done so far.
struct Tally {
  uint64_t requests = 0;
  uint64_t failed = 0;
  uint64_t iterations = 0;  // completed
  uint64_t dropped = 0;     // arrivals
  int64_t vus_active = 0;   // inside an iteration at this moment
  bool operator==(const Tally&) const = default;
  Tally& operator+=(const Tally& other);
};

// How far an engine has come with what its schedule lets it do. All figures grow, and what counts is by how much: it
// did all that was possible when those of a pair grow alike. Waiting for the target, pacing and think time make nothing
// possible.
struct Headway {
  uint64_t turned = 0;       // spans of kTurn in which its loop looked, of those that have passed
  uint64_t could_begin = 0;  // iterations: `begun`, and at each look the users that could begin one and had not
  uint64_t begun = 0;
  uint64_t due = 0;     // arrivals that came due kTurn ago or earlier
  uint64_t served = 0;  // of these: they were started, dropped, or wait for a user
  bool operator==(const Headway&) const = default;
  Headway& operator+=(const Headway& other);
};
inline constexpr Duration kTurn = Duration::millis(100);

class Engine {
 public:
  // Everything given must outlive it. `first` is the window to start with.
  // `programs` may be nullptr for a plan without any. REQUIRES a part of its parts, and a workflow of the plan.
  Engine(runtime::Runtime& runtime, const plan::Plan& plan, EngineShare share, WindowSink& sink, metrics::Window* first,
         const ProgramLoader* programs = nullptr);
  ~Engine();

  // Prepares all steps. Fails on what only shows now: a constant URL that is wrong, an unreadable CA file, a program
  // without the function that a step calls.
  Status prepare();
  // Gets the access tokens of its steps, after prepare(). An error says which was refused; without them, requests that
  // need one wait for it when they come.
  runtime::task<Status> obtain_tokens() { return tokens_.obtain(); }
  // Runs its share from `start` on (an instant of this runtime's clock) to its end. The last window is handed over
  // before it returns.
  //
  // `resume_at`: it goes on in the place of one that died so long after `start`, which then usually lies in the past.
  // What was due before `start + resume_at` is neither issued nor counted, and everything ends when it would have ended
  // anyway; so does the timeout of a workflow. Windows carry the seconds since `start`, so the first of them may be a
  // part of a second. Virtual users keep their numbers, and count their iterations from 0 again.
  runtime::task<void> run(Instant start, Duration resume_at = Duration::zero());

  // No new iterations; those running may finish within their workflow's graceful_stop.
  void stop();
  // Everything ends now.
  void kill();
  // From now on nothing begins, until resume(): no iteration, and arrivals that come due meanwhile are neither issued
  // nor counted. What runs goes on, and so does every clock.
  void pause();
  void resume();
  bool paused() const { return paused_; }
  // How many virtual users, of all parts, an externally controlled workflow has from now on, or from its begin on;
  // cut to the most that it may have. Without effect on others.
  void scale(uint16_t workflow, uint32_t vus);
  // Somebody else goes on from `at` after the start: what is due before is issued here, however late, and nothing from
  // then on; no user begins an iteration from then on. Those that run may finish within their workflow's graceful_stop.
  // What runs once is not handed over. REQUIRES that it runs; the first time counts.
  void hand_over(Duration at);

  // Looks at every step: for a few times a second.
  Tally tally() const;
  // Looks at every workflow. To be called more often than once in kTurn, by a coroutine of the engine's own loop: that
  // this is done says that the loop turns.
  Headway look();

  // What a workflow that it runs has left for others so far (plan::Workflow::provides).
  std::vector<plan::Provided> provided(uint16_t workflow) const;

  // The loop was busy for this long between two waits.
  void note_turn(Duration busy) { window_->loop_lag.record(busy); }

 private:
  friend class Tokens;  // it notes what fails
  struct Vu;
  struct WorkflowRun;
  enum class Flow : uint8_t { kGoOn, kEndIteration, kEndVu };

  runtime::task<void> tick(Instant start, uint64_t second);
  runtime::task<void> run_workflow(std::size_t index, Instant start, Instant from);
  bool begins(WorkflowRun& run, Duration length);
  runtime::task<void> constant_vus(WorkflowRun& run, const plan::ConstantVus& executor);
  runtime::task<void> iterations(WorkflowRun& run, const plan::Iterations& executor);
  runtime::task<void> live_users(WorkflowRun& run, uint32_t vus, const plan::Delay* pacing, std::span<uint64_t> left);
  runtime::task<void> vu_loop(WorkflowRun& run, Vu& vu, const plan::Delay* pacing, uint64_t* left);
  Instant next_by_pace(WorkflowRun& run, const Vu& vu, const plan::Delay& pacing, Instant began);
  runtime::task<void> ramping_vus(WorkflowRun& run, const plan::RampingVus& executor);
  runtime::task<void> externally_controlled(WorkflowRun& run, const plan::ExternallyControlled& executor);
  void want(WorkflowRun& run, uint32_t index, const plan::Delay* pacing, std::vector<runtime::task<void>>& loops);
  runtime::task<void> dismiss(WorkflowRun& run, std::vector<runtime::task<void>>& loops);
  void turn_away(Vu& vu, Duration grace);
  void renew_leaving(WorkflowRun& run, Vu& vu);
  runtime::task<void> arrivals(WorkflowRun& run, const plan::ArrivalRate& executor);
  void pass_over(WorkflowRun& run);
  runtime::task<void> arrival_vu(WorkflowRun& run, Vu& vu);
  runtime::task<void> once(WorkflowRun& run);
  void begin_arrival(WorkflowRun& run, Vu& vu, Instant due);
  void next_arrival_or_rest(WorkflowRun& run, Vu& vu);
  void drop_expired(WorkflowRun& run, bool all);
  void charge_dropped(WorkflowRun& run, Duration waited, uint64_t times = 1);

  runtime::task<Flow> run_iteration(WorkflowRun& run, Vu& vu, Instant due);
  runtime::task<Flow> run_step(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due);
  runtime::task<Flow> run_work(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due);
  runtime::task<Flow> run_work_and_think(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due);
  runtime::task<Flow> run_call(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due, uint16_t sent = 0);
  runtime::task<Flow> send_again(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due, uint16_t sent);
  runtime::task<Flow> run_action(WorkflowRun& run, Vu& vu, PreparedStep& step);
  Result<std::size_t> program_at(uint16_t index);
  Status prepare_code(WorkflowRun& run, const plan::Step& step);
  void begin_code_iteration(WorkflowRun& run, Vu& vu);
  runtime::task<Flow> run_code(WorkflowRun& run, Vu& vu, PreparedStep& step, Instant due);
  void note(std::string_view who, std::string_view text);
  void note_proxy(const PreparedStep& step, const http1::Response& response);
  bool has_token(const plan::HttpCall& call) const { return !call.token || tokens_.is_valid(*call.token); }
  runtime::task<bool> next_token(const Vu& vu, const plan::HttpCall& call);
  void take_rows(WorkflowRun& run, Vu& vu);
  void provide(WorkflowRun& run, const Vu& vu);
  Flow after_failure(WorkflowRun& run, Vu& vu, const PreparedStep& step);
  struct Outcome {
    bool failed = false;  // the request did
    bool good = false;    // and every check holds
  };
  void count(metrics::StepWindow& counts, const http1::Response& response, Duration service, Instant due);
  Outcome record(PreparedStep& step, const http1::Response& response, Instant due, Vu& vu);
  static bool is_to_be_sent_again(const plan::Retry& retry, const http1::Response& response, bool failed);
  void record_metrics(const PreparedStep& step, const Vu& vu) {
    if (!step.step().records.empty()) record_those(step, vu);
  }
  void record_those(const PreparedStep& step, const Vu& vu);
  bool leaves_out(WorkflowRun& run, Vu& vu, uint16_t index);
  RenderContext context_for(const Vu& vu, bool with_time);

  runtime::Runtime& runtime_;
  const plan::Plan& plan_;
  EngineShare share_;
  WindowSink& sink_;
  metrics::Window* window_;
  Instant start_;
  Tally handed_over_;                      // of all windows before
  Headway headway_;                        // `turned`, and of could_begin what was not begun
  Instant turned_ = Instant::from_ns(-1);  // the end of the last span that was counted
  runtime::Cancellation killed_;           // ends everything at once
  runtime::Cancellation stopped_;          // ends waiting between iterations, and think time
  runtime::Cancellation ended_;            // ends the ticker
  bool paused_ = false;
  BodyReaders readers_;
  MetricRecorder recorder_;
  http1::Client client_;
  Tokens tokens_;
  // Before the users that they keep something of.
  const ProgramLoader* loader_;
  struct Loaded {
    uint16_t index;  // into Plan::programs
    std::unique_ptr<Program> program;
  };
  std::vector<Loaded> programs_;
  CodeThread code_thread_;
  std::vector<std::string> notes_;                      // so far
  std::vector<std::unique_ptr<CodeRun>> runs_of_code_;  // free ones
  std::vector<std::unique_ptr<WorkflowRun>> runs_;
  std::vector<std::unique_ptr<RequestText>> texts_;  // free ones
};

}  // namespace bellwether::vuser
