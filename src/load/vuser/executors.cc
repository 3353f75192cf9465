#include "load/vuser/executors.h"

#include <algorithm>
#include <optional>

#include "core/base/overloaded.h"

namespace bellwether::vuser {

using runtime::task;

task<void> Executors::run(WorkflowRun& run, Instant start, Resume resume) {
  run.start = start + run.workflow.start_time;
  run.from = std::max(run.start, start + resume.at);
  run.rows_taken = resume.rows.rows;
  run.rows_from = start + resume.rows.at;
  run.applied = {run.from, run.rows_taken, 0};
  if (run.workflow.timeout) runtime_.timers().arm(run.timeout, start + *run.workflow.timeout);
  const bool time_came = co_await runtime_.sleep_until(run.from, &run.waiting);
  if (!time_came) {
    run.ended = std::min(runtime_.now(), run.from);
    co_return;
  }
  co_await std::visit(Overloaded{[&](const plan::ConstantVus& how) { return constant_vus(run, how); },
                                 [&](const plan::RampingVus& how) { return ramping_vus(run, how); },
                                 [&](const plan::Iterations& how) { return iterations(run, how); },
                                 [&](const plan::ArrivalRate& how) { return arrivals(run, how); },
                                 [&](const plan::ExternallyControlled& how) { return externally_controlled(run, how); },
                                 [&](const plan::Once&) { return once(run); }},
                      run.workflow.executor);
  // The engines before this one have taken them all, or may have.
  if (run.begun == 0 && run.rows_taken > 0 && !run.has_rows()) iteration_.note_end_of_rows(run);
  run.ended = runtime_.now();
  if (state_.permit_is_over(run.ended)) run.ended = std::min(run.ended, run.schedule ? run.left_from : state_.fenced);
  run.overtime.disarm();
  run.timeout.disarm();
  run.handing_over.disarm();
}

// False: nothing of it may begin any more.
bool Executors::begins(WorkflowRun& run, Duration length) {
  run.end = run.start + length;
  if (run.from >= run.last() || !run.has_rows()) return false;
  if (!state_.stopped.cancelled()) runtime_.timers().arm(run.overtime, run.last() + run.workflow.graceful_stop);
  return true;
}

task<void> Executors::once(WorkflowRun& run) {
  run.vus.push_back(std::make_unique<Vu>(1, run.workflow, &run.cancel));
  run.end = run.start;
  run.vus.back()->row = run.take_row(runtime_.now());
  co_await iteration_.run(run, *run.vus.back(), runtime_.now());
  ++run.left;
}

namespace {

// Starting tens of thousands takes a while; those already started must not wait for the rest.
constexpr uint32_t kAtOnce = 64;

// Up to this number of missed iterations are charged one by one, and more in groups of one part of the time each: the
// error of a wait stays below a thousandth of the longest.
constexpr int64_t kMissedApart = 1'000;

// A target that answers nothing is not asked a million times a second: a user without a pace begins its next iteration
// at the earliest so long after the last one, the longer the more of them got no response at all.
constexpr Duration kFirstRest = Duration::millis(10);
constexpr Duration kLongestRest = Duration::seconds(1);
constexpr uint32_t kDoublings = 7;

// Between two looks at the pace that the owner of the part counts on.
constexpr Duration kPaceRest = Duration::millis(5);

Duration pause_of(uint32_t deaf) {
  return std::min(kFirstRest * (int64_t{1} << std::min(deaf - 1, kDoublings)), kLongestRest);
}

// nullptr: none. The plan outlives all that runs.
template <class Executor>
const plan::Delay* pacing_of(const Executor& executor) {
  return executor.pacing ? &*executor.pacing : nullptr;
}

}  // namespace

task<void> Executors::constant_vus(WorkflowRun& run, const plan::ConstantVus& executor) {
  if (!begins(run, executor.duration)) co_return;
  co_await live_users(run, executor.vus, pacing_of(executor), {});
}

// An iteration that did not begin in time is dropped, because no user will run it. One that a person stopped is not.
task<void> Executors::iterations(WorkflowRun& run, const plan::Iterations& executor) {
  if (!begins(run, executor.max_duration)) co_return;
  const plan::Share assignment = plan::share_of(executor.vus, run.part, run.parts);
  // One number that all users share, or one for each user, as even as possible when some are already done.
  std::vector<uint64_t> left(executor.shared ? 1 : assignment.count);
  const uint64_t all = state_.assignment.iterations.value_or(executor.planned(run.part, run.parts));
  for (uint32_t i = 0; i < left.size(); ++i) left[i] = plan::dealt_to(all, i, static_cast<uint32_t>(left.size()));
  co_await live_users(run, executor.vus, nullptr, left);
  if (state_.stopped.cancelled() || !run.has_rows()) co_return;
  for (const uint64_t rest : left) state_.window->workflows[run.index].dropped += rest;
}

// Runs this part's of `vus` users to their ends. `left`: the iterations that each may begin, or all together; empty: no
// limit but the time.
task<void> Executors::live_users(WorkflowRun& run, uint32_t vus, const plan::Delay* pacing, std::span<uint64_t> left) {
  const plan::Share assignment = plan::share_of(vus, run.part, run.parts);
  run.vus.reserve(assignment.count);
  std::vector<task<void>> loops;
  loops.reserve(assignment.count);
  for (uint32_t i = 0; i < assignment.count && !state_.stopped.cancelled(); ++i) {
    run.vus.push_back(std::make_unique<Vu>(assignment.first + i + 1, run.workflow, &run.cancel));
    uint64_t* const own = left.empty() ? nullptr : &left[left.size() == 1 ? 0 : i];
    loops.push_back(vu_loop(run, *run.vus.back(), pacing, own));
    if (i % kAtOnce == kAtOnce - 1) co_await runtime_.yield();
  }
  for (task<void>& loop : loops) co_await loop;
}

// `left`: the iterations that it may begin; nullptr: no limit but the time.
task<void> Executors::vu_loop(WorkflowRun& run, Vu& vu, const plan::Delay* pacing, uint64_t* left) {
  std::optional<Instant> due;  // of the next iteration, with a pace
  while (!state_.stopped.cancelled() && runtime_.now() < run.last() && (left == nullptr || *left > 0) &&
         !vu.dismissed) {
    if (!vu.wanted) {
      due.reset();
      vu.session.close_idle();
      vu.called.reset();
      ++run.resting;
      co_await vu.called.wait();
      --run.resting;
      continue;
    }
    if (state_.paused) {
      due.reset();
      ++run.resting;
      co_await runtime_.sleep_until(run.last(), run.change.now());
      --run.resting;
      continue;
    }
    if (!run.may_begin(runtime_.now())) {
      ++run.pausing;
      co_await runtime_.sleep_until(runtime_.now() + kPaceRest, &run.waiting);
      --run.pausing;
      continue;
    }
    if (left != nullptr) --*left;
    const Instant began = runtime_.now();
    vu.row = run.take_row(began);
    vu.working = true;
    task<Flow> iteration = iteration_.run(run, vu, std::min(due.value_or(began), began));
    const bool at_once = iteration.done();
    const Flow flow = co_await iteration;
    vu.working = false;
    if (vu.leaving != nullptr) renew_leaving(run, vu);
    if (flow == Flow::kEndVu) {
      // The scenario ends this user, and with it the user's own remaining iterations.
      const auto* counted = std::get_if<plan::Iterations>(&run.workflow.executor);
      if (counted != nullptr && !counted->shared) *left = 0;
      due.reset();
      break;
    }
    if (pacing != nullptr) due = next_by_pace(run, vu, *pacing, began);
    if (run.cancel.cancelled()) break;
    // An iteration that sent nothing (its templates failed, for example) must not block the rest of the loop.
    if (at_once) co_await runtime_.yield();
    vu.deaf = vu.unanswered && !vu.answered ? vu.deaf + 1 : 0;
    if (due || vu.deaf > 0) {
      ++run.pausing;
      co_await runtime_.sleep_until(std::min(due ? *due : began + pause_of(vu.deaf), run.end), &run.waiting);
      --run.pausing;
    }
  }
  // No user comes for it any more.
  const Instant now = runtime_.now();
  if (due && vu.wanted && *due < run.last() && *due <= now) charge_dropped(run, now - *due);
  ++run.left;
  vu.session.close_idle();
}

// The due time of the next iteration, by the pace since the last one began. When the last one took longer than the
// pace, others fell due without a user. Each of them is charged its wait until now, like a dropped arrival, except the
// last, which begins now. The requests that are sent do not depend on it.
Instant Executors::next_by_pace(WorkflowRun& run, const Vu& vu, const plan::Delay& pacing, Instant began) {
  const auto draw = [&] { return std::max(plan::draw(pacing, runtime_.prng()), Duration::nanos(1)); };
  const Instant now = runtime_.now();
  Instant due = began + draw();
  if (!vu.wanted || state_.paused) return due;
  while (due <= now) {
    const Duration pace = draw();
    // Very many are charged in groups, each with the longest wait of its members.
    const int64_t together = 1 + (now - due) / pace / kMissedApart;
    const Instant next = due + pace * together;
    if (next > now || next >= run.last()) break;
    charge_dropped(run, now - due, static_cast<uint64_t>(together));
    due = next;
  }
  return due;
}

// --- a number of users that follows a course -------------------------------------------------------------------------

task<void> Executors::ramping_vus(WorkflowRun& run, const plan::RampingVus& executor) {
  plan::VuRamp ramp(executor.start_vus, executor.stages, run.part, run.parts);
  if (!begins(run, ramp.length())) co_return;
  run.vus.resize(ramp.most());
  run.resting = ramp.most();
  std::vector<task<void>> loops;
  loops.reserve(ramp.most());
  // When it replaces another part, it begins with the users that are wanted by then.
  std::vector<bool> wanted(ramp.most());
  std::optional<plan::VuRamp::Turn> turn = ramp.next();
  for (; turn && run.start + turn->at <= run.from; turn = ramp.next()) wanted[turn->index] = turn->wanted;
  for (uint32_t i = 0; i < wanted.size() && !state_.stopped.cancelled(); ++i) {
    if (wanted[i]) want(run, i, pacing_of(executor), loops);
    if (i % kAtOnce == kAtOnce - 1) co_await runtime_.yield();
  }
  uint32_t turns = 0;
  for (; turn && !state_.stopped.cancelled() && run.start + turn->at < run.last(); turn = ramp.next()) {
    const bool time_came = co_await runtime_.sleep_until(run.start + turn->at, &run.waiting);
    if (!time_came) break;
    if (turn->wanted) {
      want(run, turn->index, pacing_of(executor), loops);
    } else {
      turn_away(*run.vus[turn->index], executor.graceful_ramp_down);
    }
    if (++turns % kAtOnce == 0) co_await runtime_.yield();
  }
  co_await runtime_.sleep_until(run.last(), &run.waiting);
  co_await dismiss(run, loops);
}

// --- a number of users that somebody says while it runs --------------------------------------------------------------

task<void> Executors::externally_controlled(WorkflowRun& run, const plan::ExternallyControlled& executor) {
  if (!begins(run, plan::facts_of(executor).length)) co_return;
  const uint32_t most = plan::dealt_to(executor.vus_most, run.part, run.parts);
  run.vus.resize(most);
  run.resting = most;
  std::vector<task<void>> loops;
  loops.reserve(most);
  uint32_t level = 0;
  for (uint32_t steps = 0; !state_.stopped.cancelled() && runtime_.now() < run.last();) {
    const uint32_t wanted = plan::dealt_to(run.wanted, run.part, run.parts);
    if (wanted == level) {
      co_await runtime_.sleep_until(run.last(), run.change.now());
      continue;
    }
    if (level < wanted) {
      want(run, level++, pacing_of(executor), loops);
    } else {
      turn_away(*run.vus[--level], executor.graceful_ramp_down);
    }
    if (++steps % kAtOnce == 0) co_await runtime_.yield();
  }
  co_await dismiss(run, loops);
}

// --- users who come and go -------------------------------------------------------------------------------------------

void Executors::want(WorkflowRun& run, uint32_t index, const plan::Delay* pacing,
                     std::vector<runtime::task<void>>& loops) {
  std::unique_ptr<Vu>& vu = run.vus[index];
  if (vu != nullptr) {
    vu->wanted = true;
    vu->leaving->timer.disarm();
    vu->called.set();
    return;
  }
  --run.resting;
  // User n belongs to part (n - 1) mod parts, so that every part follows the number of all of them.
  const uint32_t number = plan::number_dealt(index, run.part, run.parts);
  vu = std::make_unique<Vu>(number, run.workflow, &run.cancel);
  vu->leaving = std::make_unique<Leaving>(&run.cancel);
  vu->cancel = &vu->leaving->cancel;
  loops.push_back(vu_loop(run, *vu, pacing, nullptr));
}

// No user begins an iteration any more; returns when the last one has ended its current one.
task<void> Executors::dismiss(WorkflowRun& run, std::vector<task<void>>& loops) {
  for (const auto& vu : run.vus) {
    if (vu == nullptr) continue;
    vu->dismissed = true;
    vu->called.set();
  }
  for (task<void>& loop : loops) co_await loop;
}

void Executors::turn_away(Vu& vu, Duration grace) {
  vu.wanted = false;
  if (vu.working) runtime_.timers().arm(vu.leaving->timer, runtime_.now() + grace);
}

// It has ended its iteration, in time or not.
void Executors::renew_leaving(WorkflowRun& run, Vu& vu) {
  vu.leaving->timer.disarm();
  if (!vu.leaving->cancel.cancelled() || run.cancel.cancelled()) return;
  vu.leaving = std::make_unique<Leaving>(&run.cancel);
  vu.cancel = &vu.leaving->cancel;
}

}  // namespace bellwether::vuser
