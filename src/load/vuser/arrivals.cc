// Arrival rates: iterations begin when they are due, however busy the target is.

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "load/vuser/executors.h"

namespace bellwether::vuser {

using runtime::task;

namespace {

constexpr Duration kLate = Duration::millis(10);

}  // namespace

task<void> Executors::arrivals(WorkflowRun& run, const plan::ArrivalRate& executor) {
  if (!begins(run, plan::length_of(executor.stages))) co_return;
  run.schedule.emplace(executor.stages, run.part, run.parts);
  run.first = run.arrived = run.waiting_from = run.counted_to = run.schedule->due_before(run.from - run.start);
  run.rows_taken += run.first - std::min(run.first, run.schedule->due_before(run.rows_from - run.start));
  if (!run.has_rows()) co_return;
  run.wait_max = executor.users.wait_max;
  run.most = plan::share_of(executor.users.most, run.part, run.parts);
  const plan::Share first = plan::share_of(executor.users.preallocated, run.part, run.parts);
  run.vus.reserve(run.most.count);
  run.free.reserve(run.most.count);
  while (run.vus.size() < first.count && run.vus.size() < run.most.count) hire(run);
  // Rows that end belong to the part that they were dealt to.
  if (run.parts > 1 && run.rows_most == UINT64_MAX) run.spare = state_.spare;
  if (run.spare != nullptr) {
    run.executors = this;
    const auto taker = [](void* one) {
      auto& taking = *static_cast<WorkflowRun*>(one);
      taking.executors->take_passed(taking);
    };
    run.spare->open(run.index, run.part, run.most.count, runtime_, taker, &run);
  }

  run.arrivals = run.schedule->due_before(run.last() - run.start);
  while (run.arrived < run.arrivals && !state_.stopped.cancelled()) {
    if (state_.paused) {
      co_await runtime_.sleep_until(run.last(), run.change.now());
      pass_over(run);
      continue;
    }
    const Instant due = run.start + run.schedule->due(run.arrived);
    if (due > runtime_.now()) {
      const bool time_came = co_await runtime_.sleep_until(due, run.change.now());
      if (!time_came) continue;  // it is stopped, another part's, or paused
    }
    // The look may find that others run this arrival.
    if (state_.permit_is_over(runtime_.now()) || run.arrived >= run.arrivals) break;
    ++run.arrived;
    ++state_.window->workflows[run.index].scheduled;
    if (run.waiting_from + 1 < run.arrived || !claim_user(run)) {
      tell_waiting(run);  // behind those that wait already
      pass_on(run, run.arrived - 1);
      drop_expired(run, false);
      continue;
    }
    run.waiting_from = run.counted_to = run.arrived;
    serve(run, due);
  }

  if (run.arrived < run.arrivals) run.left_from = run.start + run.schedule->due(run.arrived);
  run.arrivals = run.arrived;  // later arrivals belong to another part, or are not wanted
  if (run.spare != nullptr) {
    const plan::ArrivalSchedule all(executor.stages, 0, 1);
    co_await lend_users(run, all.count() == 0 ? Duration::zero() : all.due(all.count() - 1));
  }

  for (const auto& vu : run.vus) {
    vu->dismissed = true;
    vu->called.set();
  }
  for (task<void>& user : run.serving) co_await user;
  run.serving.clear();  // on the thread that made them
  drop_expired(run, true);
  tell_waiting(run);
  run.served = !run.waiting.cancelled();
  // Its last arrival is due before the end of its time. Without the rest, its rate would exceed the planned one.
  co_await runtime_.sleep_until(run.last(), &run.waiting);
}

// After the last arrival of this part, others may still need its users; `last` is that of all parts.
task<void> Executors::lend_users(WorkflowRun& run, Duration last) {
  const Instant due = std::min(run.start + last + kLate, run.last());
  co_await runtime_.sleep_until(due, &run.waiting);
  const Instant end = std::min(due + run.wait_max, run.last() + run.workflow.graceful_stop);
  while (runtime_.now() < end && !run.waiting.cancelled() && !run.spare->may_leave(run.index, run.part)) {
    runtime::Cancellation called(&run.waiting);
    run.lending = &called;
    co_await runtime_.sleep_until(end, &called);
    run.lending = nullptr;
  }
  while (!run.spare->close(run.index, run.part)) co_await runtime_.yield();
}

void Executors::hire(WorkflowRun& run) {
  const uint32_t number = run.most.first + static_cast<uint32_t>(run.vus.size()) + 1;
  run.vus.push_back(std::make_unique<Vu>(number, run.workflow, &run.cancel));
  run.free.push_back(run.vus.back().get());
  run.serving.push_back(arrival_vu(run, *run.vus.back()));
}

// False: no user is free, and none may still be made.
bool Executors::claim_user(WorkflowRun& run) {
  if (run.spare != nullptr) return run.spare->claim(run.index, run.part);
  return !run.free.empty() || run.vus.size() < run.most.count;
}

// REQUIRES a claimed user.
void Executors::serve(WorkflowRun& run, Instant due) {
  if (run.free.empty()) hire(run);
  Vu& vu = *run.free.back();
  run.free.pop_back();
  begin_arrival(run, vu, due);
}

// Whether an arrival waits here, or was dropped and waits to know its charge.
void Executors::tell_waiting(WorkflowRun& run) {
  if (run.spare == nullptr) return;
  const bool waits = run.waiting_from < run.arrived;
  const std::optional<uint64_t> oldest = waits ? std::optional(run.waiting_from) : std::nullopt;
  if (std::exchange(run.told_waiting, oldest) == oldest) return;
  run.spare->wait(run.index, run.part, waits ? std::optional(run.schedule->due(*oldest)) : std::nullopt);
}

// Arrivals that wait here begin in other parts that have users for them, the oldest first. Those before `fresh` must
// not have waited too long.
void Executors::pass_on(WorkflowRun& run, uint64_t fresh) {
  if (run.spare == nullptr) return;
  count_expired(run, fresh);
  while (run.counted_to < run.arrived && run.spare->pass(run.index, run.part, run.schedule->due(run.counted_to))) {
    charge_waiting(run);
    run.waiting_from = ++run.counted_to;
  }
  if (run.counted_to == run.arrived && run.spare->any_free(run.index)) charge_waiting(run);
  tell_waiting(run);
}

// Begins the arrivals of other parts, whose users are claimed, and passes on its own.
void Executors::take_passed(WorkflowRun& run) {
  const bool begins = !state_.paused && !state_.stopped.cancelled() && !run.cancel.cancelled();
  for (const Duration after : run.spare->take(run.index, run.part)) {
    const Instant due = run.start + after;
    if (begins) {
      serve(run, due);
      continue;
    }
    run.spare->release(run.index, run.part);
    ++state_.window->workflows[run.index].dropped;
    charge_dropped(run, runtime_.now() - due);
  }
  if (begins && run.waiting_from < run.arrived) {
    pass_on(run, run.arrived);
    run.spare->call_next(run.index);
  }
  if (run.lending != nullptr) run.lending->cancel();
}

// Arrivals that fell due during the pause do not count, and those that still wait from before it are dropped.
void Executors::pass_over(WorkflowRun& run) {
  drop_expired(run, true);
  const uint64_t due = run.schedule->due_before(runtime_.now() - run.start);
  run.arrived = run.waiting_from = run.counted_to = std::clamp(due, run.arrived, run.arrivals);
  tell_waiting(run);
}

task<void> Executors::arrival_vu(WorkflowRun& run, Vu& vu) {
  while (true) {
    co_await vu.called.wait();
    if (!vu.working) break;  // dismissed
    if (!vu.dismissed) vu.called.reset();
    const Flow flow = co_await iteration_.run(run, vu, vu.due);
    vu.working = false;
    if (flow == Flow::kEndVu || run.cancel.cancelled()) break;
    next_arrival_or_rest(run, vu);
  }
  vu.session.close_idle();
}

void Executors::begin_arrival(WorkflowRun& run, Vu& vu, Instant due) {
  const Duration lag = runtime_.now() - due;
  metrics::WorkflowWindow& counts = state_.window->workflows[run.index];
  ++(lag > kLate ? counts.late : counts.on_time);
  counts.start_lag.record(lag);
  vu.due = due;
  vu.row = run.take_row(runtime_.now());
  vu.working = true;
  vu.called.set();
}

// A user has become free: settle the arrivals that waited, oldest first, and serve the first that still may be.
void Executors::next_arrival_or_rest(WorkflowRun& run, Vu& vu) {
  drop_expired(run, false);
  charge_waiting(run);
  if (run.waiting_from < run.arrived && run.has_rows() && !state_.stopped.cancelled()) {
    const Instant due = run.start + run.schedule->due(run.waiting_from);
    run.counted_to = ++run.waiting_from;
    tell_waiting(run);
    begin_arrival(run, vu, due);
    return;
  }
  tell_waiting(run);
  run.free.push_back(&vu);
  if (run.spare != nullptr) run.spare->release(run.index, run.part);
}

// Counts the waiting arrivals whose time is over (or all of them) as dropped. With `all`, charges them too.
void Executors::drop_expired(WorkflowRun& run, bool all) {
  if (!run.schedule) return;
  if (!all) return count_expired(run, run.arrived);
  run.counted_to = std::max(run.counted_to, run.waiting_from);
  state_.window->workflows[run.index].dropped += run.arrived - run.counted_to;
  run.counted_to = run.arrived;
  charge_waiting(run);
}

// Of the waiting arrivals before `before`.
void Executors::count_expired(WorkflowRun& run, uint64_t before) {
  const Instant now = runtime_.now();
  run.counted_to = std::max(run.counted_to, run.waiting_from);
  while (run.counted_to < before && now - (run.start + run.schedule->due(run.counted_to)) >= run.wait_max) {
    ++state_.window->workflows[run.index].dropped;
    ++run.counted_to;
  }
}

// The dropped ones, now that the length of their waits is known.
void Executors::charge_waiting(WorkflowRun& run) {
  for (; run.waiting_from < run.counted_to; ++run.waiting_from)
    charge_dropped(run, runtime_.now() - (run.start + run.schedule->due(run.waiting_from)));
}

void Executors::charge_dropped(WorkflowRun& run, Duration waited, uint64_t times) {
  for (const uint16_t index : run.workflow.order.first) charge_step(run, index, waited, times);
}

// With the first requests of a step that the iteration would have begun with.
void Executors::charge_step(WorkflowRun& run, uint16_t index, Duration waited, uint64_t times) {
  const PreparedStep& step = run.steps[index];
  const auto* block = std::get_if<plan::Block>(&step.step().work);
  if (block == nullptr) {
    if (step.measured()) state_.window->steps[step.step().id].response.unfinished.record(waited, times);
  } else if (block->weights.empty()) {
    for (const uint16_t first : block->order.first) charge_step(run, first, waited, times);
  } else {
    charge_step(run, iteration_.draw(*block), waited, times);
  }
}

}  // namespace bellwether::vuser
