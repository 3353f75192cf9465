// The shared state of the parts of an engine: the receiver of its windows, and its state of each workflow and virtual
// user.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/http1/client.h"
#include "core/runtime/event.h"
#include "core/runtime/runtime.h"
#include "load/metrics/window.h"
#include "load/plan/context.h"
#include "load/plan/finding.h"
#include "load/plan/plan.h"
#include "load/vuser/instruments.h"
#include "load/vuser/prepared_step.h"
#include "load/vuser/program.h"
#include "load/vuser/render.h"
#include "load/vuser/spare_users.h"
#include "load/vuser/tokens.h"

namespace bellwether::vuser {

// The receiver of an engine's windows. Called on the engine's thread.
class WindowSink {
 public:
  virtual ~WindowSink() = default;
  // `full` is complete; returns an empty window for the next second, or nullptr when none is free: the engine then
  // keeps `full` and continues to fill it. The last one is always taken.
  virtual metrics::Window* exchange(metrics::Window* full, bool last) = 0;
  // A step with `on_error: abort` failed.
  virtual void abort_run(std::string_view step) = 0;
  // A note of a step's program, such as the reason of a failure. A few times at most.
  virtual void note(std::string_view step, std::string_view text) = 0;
  // The timeout of a workflow is over, and its rest here is being ended. Once for each workflow.
  virtual void timed_out(uint16_t workflow) = 0;
};

// An engine's part of a plan: of each workflow, or of the named ones, when `parts` engines share them. A workflow has
// at most one part for each user; engines beyond that leave it out. Windows have the shape of the whole plan either
// way.
struct EngineAssignment {
  uint32_t part = 0;
  uint32_t parts = 1;
  std::vector<uint16_t> workflows;  // none: all
  // The iterations that it may begin, in a workflow that counts them; none: as planned. Other engines have begun the
  // rest of its parts.
  std::optional<uint64_t> iterations = std::nullopt;
  // Its windows go to an owner that may have another engine continue: it reports how far it is, and keeps to that pace
  // where nothing may come twice (Engine::applied()).
  bool reported = false;
};

// Where an engine continues the work of another one.
struct Resume {
  Duration at;               // after the start
  plan::RowPoint rows = {};  // that were taken of each feed
};

// The permit of a process to make load, for all its engines: see docs/contributing/decisions/053-load-fence.md.
struct Permit {
  // Its end by the boot clock, in nanoseconds; INT64_MAX: it has none. Another process may move it at any time.
  const std::atomic<int64_t>& until;
  // Others run its parts from this time of the workflow's clock on, in nanoseconds; INT64_MAX: nobody does.
  const std::atomic<int64_t>& handed_over;
  // An engine has come to its end. From then on none makes load, also after a late renewal.
  std::atomic<bool> over{false};
};

// One for each engine. The references outlive it.
struct EngineState {
  runtime::Runtime& runtime;
  const plan::Plan& plan;
  const EngineAssignment assignment;
  WindowSink& sink;
  metrics::Window* window;  // that is being filled
  const Instruments instruments = {};
  Permit* permit = nullptr;     // nullptr: it needs none
  SpareUsers* spare = nullptr;  // nullptr: arrivals have the users of this engine only
  http1::SendLimit limit = {};
  Instant fenced = Instant::never();  // it sent nothing from then on, because the permit had ended
  Instant start = {};
  runtime::Cancellation killed{nullptr};   // ends everything at once
  runtime::Cancellation stopped{&killed};  // ends waiting between iterations, and think time
  bool paused = false;

  bool permit_is_over(Instant now) const { return now >= limit.until && limit.is_over(now); }
};

// The next action of a user after a step, or an iteration.
enum class Flow : uint8_t { kGoOn, kEndIteration, kEndVu };

// For a user whose turn may end before the workflow does: the end of its current iteration.
struct Leaving {
  explicit Leaving(runtime::Cancellation* workflow)
      : cancel(workflow), timer([](void* self) { static_cast<Leaving*>(self)->cancel.cancel(); }, this) {}
  runtime::Cancellation cancel;
  runtime::Timer timer;  // of graceful_ramp_down
};

// One run of an order of steps that is no chain, or a block's.
struct Course {
  std::vector<runtime::task<void>> branches;  // steps that run side by side
  Flow flow = Flow::kGoOn;                    // of all so far
};

// The time of a group of steps in an iteration.
struct GroupTime {
  Instant begin = Instant::never();  // never: none of its steps has begun
  Instant end;
};

struct Vu {
  Vu(uint32_t number_, const plan::Workflow& workflow_, runtime::Cancellation* cancel_)
      : number(number_), workflow(workflow_), cancel(cancel_), values(workflow_.slot_count) {
    session.owner = this;
    session.number = number;
  }
  uint32_t number;  // from 1, unique in the workflow over all cores
  const plan::Workflow& workflow;
  runtime::Cancellation* cancel;  // ends its iteration: that of the workflow, or its own
  uint64_t iteration = 0;         // from 0
  uint64_t row = 0;               // of its current iteration: see WorkflowRun::take_row()
  // Of the current iteration: whether a request got a response, and whether one got none.
  bool answered = false;
  bool unanswered = false;
  uint32_t deaf = 0;  // iterations in a row in which no request got a response
  http1::Session session;
  Values values;
  std::vector<Course> courses;    // by the number of their order; empty: none was needed yet
  std::vector<uint16_t> missing;  // by step: those that it comes after and that have not ended
  std::vector<GroupTime> groups;  // of the workflow
  std::vector<bool> left_out;     // the skipped steps of this iteration, and the failed ones with on_error: skip
  std::vector<std::unique_ptr<Program::User>> code;  // in each of the workflow's programs
  // Arrival-rate executors: the arrival this user serves, and its wait for the next one.
  Instant due;
  bool working = false;
  bool dismissed = false;  // no more arrivals, or turns
  runtime::Event called;   // an arrival waits, the user is wanted again, or is dismissed
  // ramping-vus: whether the course has reached it.
  bool wanted = true;
  std::unique_ptr<Leaving> leaving;
};

class Executors;

struct WorkflowRun {
  WorkflowRun(std::size_t index_, EngineState& state)
      : index(index_),
        workflow(state.plan.workflows[index_]),
        sink(state.sink),
        waiting(&state.stopped),
        change(&waiting),
        handing_over(&WorkflowRun::taken_over, this),
        cancel(&state.killed),
        overtime(&WorkflowRun::out_of_time, this),
        timeout(&WorkflowRun::timed_out, this),
        provided(workflow.provides.size()),
        lists(workflow.provides.size()) {}
  static void out_of_time(void* self) { static_cast<WorkflowRun*>(self)->cancel.cancel(); }
  // Nothing of it begins any more, and running iterations are ended.
  static void timed_out(void* self) {
    auto* run = static_cast<WorkflowRun*>(self);
    run->until = std::min(run->until, run->timeout.deadline());
    run->arrivals = run->arrived;
    run->waiting.cancel();
    run->cancel.cancel();
    run->sink.timed_out(static_cast<uint16_t>(run->index));
  }
  static void taken_over(void* self) { static_cast<WorkflowRun*>(self)->waiting.cancel(); }
  // The number of the row, of each feed, for an iteration that begins. With the last one nothing else begins here.
  uint64_t take_row(Instant now) {
    if (rows_taken + 1 == rows_most) {
      until = std::min(until, now);
      arrivals = arrived;
      waiting.cancel();
    }
    return rows_taken++;
  }
  bool has_rows() const { return rows_taken < rows_most; }
  // The last moment at which anything begins here.
  Instant last() const { return until < end ? until : end; }

  std::size_t index;
  const plan::Workflow& workflow;
  uint32_t part = 0;  // of the workflow, which has at most as many as it has users
  uint32_t parts = 1;
  WindowSink& sink;
  Instant start;
  Instant from;  // when this engine begins with it: at `start`, or later in place of another engine
  Instant end;
  Instant ended = Instant::never();  // when its last iteration here ended
  Instant until = Instant::never();  // from then on it is another engine's
  runtime::Cancellation waiting;     // for the next iteration, or arrival: ends with `until`, too
  Change change;                     // it is paused or resumed, or has another number of users
  runtime::Timer handing_over;       // fires at `until`
  std::vector<PreparedStep> steps;
  std::vector<std::unique_ptr<CodeSite>> sites;  // by step; nullptr: no program does its work
  std::vector<Program*> programs;
  bool may_leave_out = false;    // a step has an `if`, or says on_error: skip
  runtime::Cancellation cancel;  // ends every iteration of this workflow; outlives its users
  std::vector<std::unique_ptr<Vu>> vus;
  int64_t active = 0;                                   // virtual users inside an iteration
  uint64_t begun = 0;                                   // iterations
  uint64_t pausing = 0;                                 // users of a closed model that wait because of pacing
  uint64_t left = 0;                                    // and those that begin no iteration any more
  int64_t active_most = 0;                              // the most of them at once in this window
  int64_t resting = 0;                                  // users that are not wanted now, or never were; or are paused
  uint32_t wanted = 0;                                  // users, of all parts, if a command sets them
  runtime::Timer overtime;                              // fires when graceful_stop is over
  runtime::Timer timeout;                               // of the workflow
  std::vector<std::optional<plan::Provided>> provided;  // by index of the workflow's provides
  std::vector<plan::Collection> lists;                  // the same of those that are lists
  std::string providing;                                // the value in the making
  uint64_t rows_taken = 0;                              // of each feed, also by the engines before this one
  uint64_t rows_most = UINT64_MAX;                      // of them; the fewest of a feed that ends

  // How far it was at a moment.
  struct Reached {
    Instant at;
    uint64_t taken = 0;
    uint64_t pace = 0;
  };
  bool keeps_pace = false;      // it begins no more than its owner counts on
  Reached applied;              // its owner has this
  std::deque<Reached> reached;  // later ones
  Instant windowed;             // the begin of the present window
  uint64_t begun_before = 0;    // iterations, in earlier windows
  uint64_t fastest = 0;         // the most that began in a second; 0: unknown
  uint64_t users_most = 1;      // of this part
  Instant rows_from;            // `rows_taken` lacks those of arrivals that were due since
  bool may_begin(Instant now) const {
    return !keeps_pace || rows_taken < applied.taken + plan::begun_within(applied.pace, users_most, now - applied.at);
  }

  // Arrival-rate executors.
  std::optional<plan::ArrivalSchedule> schedule;
  Duration wait_max;
  Executors* executors = nullptr;
  SpareUsers* spare = nullptr;               // nullptr: none
  std::optional<uint64_t> told_waiting;      // to `spare`: the oldest arrival that waits
  runtime::Cancellation* lending = nullptr;  // while its users serve others only
  plan::Share most;                          // users of this part
  std::vector<runtime::task<void>> serving;  // one for each of `vus`
  std::vector<Vu*> free;                     // the one used last serves next: its connection is warm
  uint64_t first = 0;                        // of this engine
  uint64_t arrivals = 0;                     // of this engine: all before this one, and none from it on
  uint64_t arrived = 0;                      // arrivals that are due so far
  uint64_t waiting_from = 0;                 // arrivals [waiting_from, arrived) found no user and are not settled
  uint64_t counted_to = 0;                   // of those, arrivals before this one already count as dropped
  Instant left_from = Instant::never();      // after the end: when the first one that did not begin was due
  bool served = false;                       // all of them have ended, and only time is left
};

}  // namespace bellwether::vuser
