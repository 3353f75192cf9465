// Arrival-rate executors: iterations start when they are due, whatever the target does. An arrival that finds no free
// virtual user waits for one for at most max_wait (by default not at all) and is then dropped. A dropped arrival is
// charged what it is known to have waited, until a user was free again, as a censored response time: a target that
// stalls cannot hide behind the requests that were never sent.

#include <algorithm>

#include "vuser/engine.h"
#include "vuser/engine_state.h"

namespace bellwether::vuser {

using runtime::task;

namespace {

constexpr Duration kLate = Duration::millis(10);

}  // namespace

task<void> Engine::arrivals(WorkflowRun& run, const plan::ArrivalRate& executor) {
  if (!begins(run, plan::length_of(executor.stages))) co_return;
  run.schedule.emplace(executor.stages, run.part, run.parts);
  run.first = run.arrived = run.waiting_from = run.counted_to = run.schedule->due_before(run.from - run.start);
  run.wait_max = executor.users.wait_max;
  const plan::Share most = plan::share_of(executor.users.most, run.part, run.parts);
  const plan::Share first = plan::share_of(executor.users.preallocated, run.part, run.parts);
  std::vector<task<void>> users;
  const auto hire = [&] {
    const uint32_t number = most.first + static_cast<uint32_t>(run.vus.size()) + 1;
    run.vus.push_back(std::make_unique<Vu>(number, run.workflow.slot_count, &run.cancel));
    run.free.push_back(run.vus.back().get());
    users.push_back(arrival_vu(run, *run.vus.back()));
  };
  run.vus.reserve(most.count);
  run.free.reserve(most.count);
  while (run.vus.size() < first.count && run.vus.size() < most.count) hire();

  run.arrivals = run.schedule->due_before(run.last() - run.start);
  while (run.arrived < run.arrivals && !stopped_.cancelled()) {
    if (paused_) {
      co_await runtime_.sleep_until(run.last(), run.change.now());
      pass_over(run);
      continue;
    }
    const Instant due = run.start + run.schedule->due(run.arrived);
    if (due > runtime_.now()) {
      const bool time_came = co_await runtime_.sleep_until(due, run.change.now());
      if (!time_came) continue;  // it is stopped, or somebody else's, or paused
    }
    ++run.arrived;
    ++window_->workflows[run.index].scheduled;
    if (run.free.empty() && run.vus.size() < most.count) hire();
    if (run.free.empty() || run.waiting_from + 1 < run.arrived) {
      drop_expired(run, false);  // it waits, behind those that wait already
      continue;
    }
    run.waiting_from = run.counted_to = run.arrived;
    Vu& vu = *run.free.back();
    run.free.pop_back();
    begin_arrival(run, vu, due);
  }

  run.arrivals = run.arrived;  // whatever is due later is nobody's, or somebody else's

  for (const auto& vu : run.vus) {
    vu->dismissed = true;
    vu->called.set();
  }
  for (task<void>& user : users) co_await user;
  drop_expired(run, true);
}

// What has come due while it was paused is nobody's, and what still waits from before that is dropped.
void Engine::pass_over(WorkflowRun& run) {
  drop_expired(run, true);
  const uint64_t due = run.schedule->due_before(runtime_.now() - run.start);
  run.arrived = run.waiting_from = run.counted_to = std::clamp(due, run.arrived, run.arrivals);
}

task<void> Engine::arrival_vu(WorkflowRun& run, Vu& vu) {
  while (true) {
    co_await vu.called.wait();
    if (!vu.working) break;  // dismissed
    if (!vu.dismissed) vu.called.reset();
    const Flow flow = co_await run_iteration(run, vu, vu.due);
    vu.working = false;
    if (flow == Flow::kEndVu || run.cancel.cancelled()) break;
    next_arrival_or_rest(run, vu);
  }
  vu.session.close_idle();
}

void Engine::begin_arrival(WorkflowRun& run, Vu& vu, Instant due) {
  const Duration lag = runtime_.now() - due;
  metrics::WorkflowWindow& counts = window_->workflows[run.index];
  ++(lag > kLate ? counts.late : counts.on_time);
  counts.start_lag.record(lag);
  vu.due = due;
  vu.working = true;
  vu.called.set();
}

// A user has become free: settle the arrivals that waited, oldest first, and serve the first that still may be.
void Engine::next_arrival_or_rest(WorkflowRun& run, Vu& vu) {
  const Instant now = runtime_.now();
  drop_expired(run, false);
  while (run.waiting_from < run.counted_to) {  // dropped: charged now that it is known how long it would have waited
    charge_dropped(run, now - (run.start + run.schedule->due(run.waiting_from)));
    ++run.waiting_from;
  }
  if (run.waiting_from < run.arrived && !stopped_.cancelled()) {
    const Instant due = run.start + run.schedule->due(run.waiting_from);
    run.counted_to = ++run.waiting_from;
    begin_arrival(run, vu, due);
    return;
  }
  run.free.push_back(&vu);
}

// Counts the waiting arrivals whose time is over (or all of them) as dropped. With `all`, charges them too.
void Engine::drop_expired(WorkflowRun& run, bool all) {
  if (!run.schedule) return;
  const Instant now = runtime_.now();
  if (run.counted_to < run.waiting_from) run.counted_to = run.waiting_from;
  while (run.counted_to < run.arrived &&
         (all || now - (run.start + run.schedule->due(run.counted_to)) >= run.wait_max)) {
    ++window_->workflows[run.index].dropped;
    ++run.counted_to;
  }
  if (!all) return;
  while (run.waiting_from < run.counted_to) {
    charge_dropped(run, now - (run.start + run.schedule->due(run.waiting_from)));
    ++run.waiting_from;
  }
}

void Engine::charge_dropped(WorkflowRun& run, Duration waited, uint64_t times) {
  for (const uint16_t index : run.workflow.layers.front()) {
    if (!run.steps[index].measured()) continue;
    metrics::StepWindow& counts = window_->steps[run.steps[index].step().id];
    counts.response.record(waited, times);
    counts.censored += times;
  }
}

}  // namespace bellwether::vuser
