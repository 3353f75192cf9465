// The load of one core: the virtual users of its part, their iterations and steps, and their counts. One engine, one
// runtime, one thread; engines share nothing but the immutable plan, and in one process the free users of arrivals
// (SpareUsers).
//
// The parts of a plan are independent of each other: each has its own virtual users and every n-th arrival, and
// computes them without a message. So the parts may run in one process or on many machines. When a machine dies,
// another one continues its part from a point of its clock on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "load/plan/context.h"
#include "load/plan/plan.h"
#include "load/vuser/engine_state.h"
#include "load/vuser/executors.h"
#include "load/vuser/iteration.h"

namespace bellwether::vuser {

// The work of an engine so far.
struct Tally {
  uint64_t requests = 0;
  uint64_t failed = 0;
  uint64_t iterations = 0;  // completed
  uint64_t dropped = 0;     // arrivals
  int64_t vus_active = 0;   // inside an iteration at this moment
  bool operator==(const Tally&) const = default;
  Tally& operator+=(const Tally& other);
};

// The progress of an engine relative to its schedule. All figures only grow. The engine keeps up if `begun` grows as
// fast as `could_begin`, and `served` as fast as `due`. A user that waits for the target, for its pacing or for think
// time cannot begin an iteration.
struct Headway {
  uint64_t turned = 0;       // spans of kTurn in which look() was called
  uint64_t could_begin = 0;  // `begun`, plus at each look the users that were free to begin an iteration
  uint64_t begun = 0;
  uint64_t due = 0;     // arrivals that came due kTurn ago or earlier
  uint64_t served = 0;  // of these: started, dropped, or waiting for a user
  bool operator==(const Headway&) const = default;
  Headway& operator+=(const Headway& other);
};
inline constexpr Duration kTurn = Duration::millis(100);

class Engine {
 public:
  // All arguments must outlive it. `first` is the window to start with. `programs` may be nullptr for a plan without
  // programs, `permit` if it needs none, and `spare` if arrivals have the users of this engine only. REQUIRES a part of
  // its parts, and a workflow of the plan.
  Engine(runtime::Runtime& runtime, const plan::Plan& plan, EngineAssignment assignment, WindowSink& sink,
         metrics::Window* first, const ProgramLoader* programs = nullptr, Instruments instruments = {},
         Permit* permit = nullptr, SpareUsers* spare = nullptr);

  // Prepares all steps. Fails on errors that only show now: a wrong constant URL, an unreadable CA file, a program
  // without the function that a step calls.
  Status prepare();
  // Gets the access tokens of its steps, after prepare(). An error names the refused one; then requests that need it
  // wait for it.
  runtime::task<Status> obtain_tokens() { return iteration_.tokens().obtain(); }
  // Runs its share from `start` on (an instant of this runtime's clock) to its end. The last window is handed over
  // before it returns.
  //
  // `resume`: it replaces an engine that died `resume.at` after `start`, which then usually lies in the past. Load
  // that was due before `start + resume.at` is neither issued nor counted. All ends stay the same, also the timeout of
  // a workflow. Windows carry the seconds since `start`, so the first of them may be a part of a second. Virtual users
  // keep their numbers, and count their iterations from 0 again. Rows go on after those that were taken by
  // `resume.rows.at`; those of arrivals that fell due since then are left out, too.
  //
  // When the permit ends, everything ends at once, as by kill(), and the permit is over. The requests that this cuts
  // off are no failures. A thread that was stopped in the middle of its work sends nothing when it continues, unless it
  // was stopped between the last look at the clock and the system call that sends; after a sleep of the machine, one
  // that looked at the permit less than 1 ms before the sleep may still send until that millisecond is over.
  runtime::task<void> run(Instant start, Resume resume = {});

  // No new iterations; running ones may finish within their workflow's graceful_stop.
  void stop();
  // Everything ends now.
  void kill();
  // From now on nothing begins, until resume(): no iteration, and arrivals that fall due meanwhile are neither issued
  // nor counted. Running iterations and all clocks go on.
  void pause();
  void resume();
  bool paused() const { return state_.paused; }
  // The number of virtual users, of all parts, of an externally controlled workflow from now on, or from its begin on;
  // cut to its most. Without effect on others.
  void scale(uint16_t workflow, uint32_t vus);
  // Another engine continues from `at` after the start. This one issues arrivals that are due before, however late, and
  // none from then on, and their iterations may finish within their workflow's graceful_stop. Other users end then, in
  // the middle of an iteration: there are never more than planned. Workflows that run once are not handed over.
  // REQUIRES that it runs; the first time counts.
  void hand_over(Duration at);
  // The owner of the part has its first `seconds` seconds. If a workflow counts its iterations, or its data ends, the
  // engine limits what begins after them (plan::begun_within()): one for each user, and in each second at most twice
  // the iterations of its fastest second so far, or one for each user if that is more. If the engine is lost, its owner
  // thus knows how many may have begun.
  void applied(uint64_t seconds);

  // Looks at every step: call it a few times a second.
  Tally tally() const;
  // Looks at every workflow. A coroutine of the engine's own loop must call it more than once in kTurn: the calls show
  // that the loop turns.
  Headway look();

  // The values that a workflow of this engine has provided so far (plan::Workflow::provides).
  std::vector<plan::Provided> provided(uint16_t workflow) const;
  // After run(): now, but when the permit has ended, the instant from which on nothing that was due has begun. A thread
  // that was stopped finds the end of its permit later.
  Instant ended() const;
  // After run(): whatever ended it, all arrivals of its part had begun and ended.
  bool served_all() const;
  // The end of this engine's part of a workflow, after run(); the earliest instant when it has none.
  Instant ended(uint16_t workflow) const;

  // The time that the loop was busy between two waits.
  void note_turn(Duration busy) { state_.window->loop_lag.record(busy); }

 private:
  runtime::task<void> tick(Instant start, uint64_t second);
  void report(WorkflowRun& run, metrics::WorkflowWindow& counts, Instant border);
  bool permit_is_over(Instant now);
  bool hands_over_users(Instant now);
  runtime::task<void> watch_permit(runtime::Cancellation* cancel);

  EngineState state_;
  Tally handed_over_;                      // of all windows before
  Headway headway_;                        // `turned`, and the part of could_begin that has not begun
  Instant turned_ = Instant::from_ns(-1);  // the end of the last span that was counted
  runtime::Cancellation ended_;            // ends the ticker
  IterationRunner iteration_;
  Executors executors_;
  std::vector<std::unique_ptr<WorkflowRun>> runs_;
};

}  // namespace bellwether::vuser
