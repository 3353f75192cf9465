#include "load/vuser/engine.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/runtime/scope.h"

namespace bellwether::vuser {

using runtime::task;

namespace {

// How often an engine looks at the end of its permit: before the requests that it sends, and while it sends none.
constexpr Duration kPermitSending = Duration::millis(1);
constexpr Duration kPermitResting = Duration::seconds(1);
// A shorter window shows no pace.
constexpr Duration kPaceSpan = Duration::millis(500);
// Seconds that the owner lacks, at most; then the pace of the last one holds until it has them.
constexpr std::size_t kMaxReached = 600;

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  requests += other.requests;
  failed += other.failed;
  iterations += other.iterations;
  dropped += other.dropped;
  vus_active += other.vus_active;
  return *this;
}

Headway& Headway::operator+=(const Headway& other) {
  turned += other.turned;
  could_begin += other.could_begin;
  begun += other.begun;
  due += other.due;
  served += other.served;
  return *this;
}

Engine::Engine(runtime::Runtime& runtime, const plan::Plan& plan, EngineAssignment assignment, WindowSink& sink,
               metrics::Window* first, const ProgramLoader* programs, Instruments instruments, Permit* permit,
               SpareUsers* spare)
    : state_{runtime, plan,  std::move(assignment),
             sink,    first, instruments,
             permit,  spare, {Instant::never(), callback_to<&Engine::permit_is_over>(*this)}},
      iteration_(state_, programs),
      executors_(state_, iteration_) {
  check(state_.assignment.part < state_.assignment.parts, "a part is one of its parts");
  for (const uint16_t workflow : state_.assignment.workflows) {
    check(workflow < plan.workflows.size(), "the workflow is one of the plan");
  }
}

Status Engine::prepare() {
  uint32_t taken = 0;  // engines by the workflows before this one: those with few users do not all meet on the first
  for (std::size_t i = 0; i < state_.plan.workflows.size(); ++i) {
    const auto& mine = state_.assignment.workflows;
    if (!mine.empty() && std::find(mine.begin(), mine.end(), i) == mine.end()) continue;
    const plan::Workflow& workflow = state_.plan.workflows[i];
    // A part without a user would drop all of its arrivals.
    const uint32_t parts = std::clamp(plan::facts_of(workflow.executor).vus_most, 1U, state_.assignment.parts);
    const uint32_t part = (state_.assignment.part + state_.assignment.parts - taken) % state_.assignment.parts;
    taken = (taken + parts) % state_.assignment.parts;
    if (part >= parts) continue;
    auto run = std::make_unique<WorkflowRun>(i, state_);
    run->part = part;
    run->parts = parts;
    if (const auto* told = std::get_if<plan::ExternallyControlled>(&workflow.executor)) run->wanted = told->vus;
    BW_RETURN_IF_ERROR(iteration_.prepare(*run));
    run->users_most = plan::users_of_part(plan::facts_of(workflow.executor).vus_most, parts);
    // Of arrivals the schedule limits what may have begun.
    const bool open = std::holds_alternative<plan::ArrivalRate>(workflow.executor);
    run->keeps_pace = state_.assignment.reported && !open &&
                      (std::holds_alternative<plan::Iterations>(workflow.executor) || run->rows_most != UINT64_MAX);
    runs_.push_back(std::move(run));
  }
  return {};
}

task<void> Engine::run(Instant start, Resume resume) {
  check(resume.at >= Duration::zero(), "nobody goes on before the beginning");
  state_.start = start;
  runtime::Scope beside;
  if (state_.permit != nullptr) {
    state_.limit.until = start + resume.at;
    beside.spawn(watch_permit(beside.cancellation()));
  }
  std::vector<task<void>> workflows;
  for (const auto& run : runs_) workflows.push_back(executors_.run(*run, start, resume));
  beside.spawn(iteration_.tokens().renew(beside.cancellation()));
  task<void> ticker = tick(start, static_cast<uint64_t>(resume.at / Duration::seconds(1)));
  for (task<void>& workflow : workflows) co_await workflow;
  ended_.cancel();
  beside.cancel();
  co_await beside.join();
  co_await ticker;
}

void Engine::stop() {
  state_.stopped.cancel();
  for (const auto& run : runs_) {
    const Instant latest = state_.runtime.now() + run->workflow.graceful_stop;
    if (!run->overtime.armed() || run->overtime.deadline() > latest) state_.runtime.timers().arm(run->overtime, latest);
  }
}

void Engine::kill() { state_.killed.cancel(); }

// Ends the load when the permit has ended. `now`: by the clock of the runtime.
bool Engine::permit_is_over(Instant now) {
  Permit& permit = *state_.permit;
  const Instant until = Instant::from_ns(permit.until.load(std::memory_order_acquire));
  const Duration left = until - state_.runtime.boot_now();
  if (left > Duration::zero() && !permit.over.load(std::memory_order_relaxed)) {
    state_.limit.until = now + std::min(left, kPermitSending);
    return hands_over_users(now);
  }
  permit.over.store(true, std::memory_order_relaxed);
  state_.fenced = std::min({state_.fenced, state_.limit.until, now});
  state_.limit.until = now;
  kill();
  return true;
}

// A process that was stopped may go on after others have begun with its parts, and before the order to hand over
// reaches this engine. True: its users are at work elsewhere, and send nothing more here.
bool Engine::hands_over_users(Instant now) {
  const int64_t at = state_.permit->handed_over.load(std::memory_order_acquire);
  if (at == INT64_MAX) [[likely]]
    return false;
  hand_over(Duration::nanos(at));
  if (now < state_.start + Duration::nanos(at)) return false;
  for (const auto& run : runs_) {
    if (run->schedule) return false;
    run->cancel.cancel();
  }
  state_.limit.until = now;
  return true;
}

task<void> Engine::watch_permit(runtime::Cancellation* cancel) {
  while (!permit_is_over(state_.runtime.read_clock())) {
    const Instant until = Instant::from_ns(state_.permit->until.load(std::memory_order_acquire));
    const Instant next = std::min(until, state_.runtime.boot_now() + kPermitResting);
    const bool time_came = co_await state_.runtime.sleep_until_boot(next, cancel);
    if (!time_came) co_return;
  }
}

void Engine::pause() {
  state_.paused = true;
  for (const auto& run : runs_) run->change.tell();
}

void Engine::resume() {
  state_.paused = false;
  for (const auto& run : runs_) run->change.tell();
}

void Engine::scale(uint16_t workflow, uint32_t vus) {
  for (const auto& run : runs_) {
    const auto* told = std::get_if<plan::ExternallyControlled>(&run->workflow.executor);
    if (run->index != workflow || told == nullptr) continue;
    run->wanted = std::min(vus, told->vus_most);
    run->change.tell();
  }
}

void Engine::hand_over(Duration at) {
  for (const auto& run : runs_) {
    // By the clock alone, no other part can continue what is counted instead of timed.
    if (!plan::facts_of(run->workflow.executor).follows_clock || run->until != Instant::never()) continue;
    run->until = state_.start + at;
    if (run->schedule) run->arrivals = std::min(run->arrivals, run->schedule->due_before(run->until - run->start));
    state_.runtime.timers().arm(run->handing_over, run->until);
    // Users are there once: the other part has them from then on. Arrivals do not depend on each other.
    const Instant latest = run->schedule ? run->until + run->workflow.graceful_stop : run->until;
    if (run->overtime.armed() && run->overtime.deadline() > latest) state_.runtime.timers().arm(run->overtime, latest);
  }
}

void Engine::applied(uint64_t seconds) {
  const Instant upto = state_.start + Duration::seconds(static_cast<int64_t>(seconds));
  for (const auto& run : runs_) {
    for (; !run->reached.empty() && run->reached.front().at <= upto; run->reached.pop_front())
      run->applied = run->reached.front();
  }
}

Tally Engine::tally() const {
  Tally sum = handed_over_;
  for (const metrics::StepWindow& step : state_.window->steps) {
    sum.requests += step.count;
    sum.failed += step.failed;
  }
  for (const metrics::WorkflowWindow& workflow : state_.window->workflows) {
    sum.iterations += workflow.iterations;
    sum.dropped += workflow.dropped;
  }
  for (const auto& run : runs_) sum.vus_active += run->active;
  return sum;
}

Headway Engine::look() {
  const Instant now = state_.runtime.now();
  if (now > turned_) {
    ++headway_.turned;
    turned_ = now - Duration::nanos(now.ns() % kTurn.ns()) + kTurn - Duration::nanos(1);
  }
  Headway seen;
  for (const auto& run : runs_) {
    seen.begun += run->begun;
    if (!run->schedule) {
      const auto elsewhere = static_cast<uint64_t>(run->active + run->resting) + run->pausing + run->left;
      if (run->vus.size() > elsewhere) headway_.could_begin += run->vus.size() - elsewhere;
      continue;
    }
    const uint64_t due = std::min(run->schedule->due_before(now - kTurn - run->start), run->arrivals);
    seen.due += due - std::min(due, run->first);
    // Not the arrivals that have just fallen due: a rare one would be served in one second, and due in the next.
    seen.served += std::min(due, run->arrived) - std::min(due, run->first);
  }
  seen.turned = headway_.turned;
  seen.could_begin = seen.begun + headway_.could_begin;
  return seen;
}

std::vector<plan::Provided> Engine::provided(uint16_t workflow) const {
  std::vector<plan::Provided> out;
  for (const auto& run : runs_) {
    if (run->index != workflow) continue;
    for (const auto& one : run->provided) {
      if (one) out.push_back(*one);
    }
    for (std::size_t i = 0; i < run->lists.size(); ++i) {
      const std::vector<plan::Provided> list = run->lists[i].provided(static_cast<uint16_t>(i));
      out.insert(out.end(), list.begin(), list.end());
    }
  }
  return out;
}

Instant Engine::ended() const {
  const Instant now = state_.runtime.now();
  if (state_.permit == nullptr || !state_.permit->over.load(std::memory_order_relaxed)) return now;
  Instant last;
  for (const auto& run : runs_) last = std::max(last, run->ended);
  return last;
}

bool Engine::served_all() const {
  return std::ranges::all_of(runs_, [](const auto& run) { return run->served; });
}

Instant Engine::ended(uint16_t workflow) const {
  const auto run = std::ranges::find_if(runs_, [&](const auto& one) { return one->index == workflow; });
  return run == runs_.end() ? Instant() : (*run)->ended;
}

// How far a workflow is at the end of a window, which is due at `border`, for the engine that may continue it.
void Engine::report(WorkflowRun& run, metrics::WorkflowWindow& counts, Instant border) {
  const Instant now = state_.runtime.now();
  const Duration lived = now - std::max(std::exchange(run.windowed, now), run.from);
  const uint64_t began = run.begun - std::exchange(run.begun_before, run.begun);
  if (lived >= kPaceSpan)
    run.fastest = std::max(run.fastest, static_cast<uint64_t>(static_cast<double>(began) / lived.seconds_f()) + 1);
  counts.begun += began;
  counts.taken = run.rows_taken;
  // Arrivals that were due, and may still begin.
  if (run.schedule) {
    const uint64_t due = std::min(run.arrivals, run.schedule->due_before(border - run.start));
    counts.taken += std::max(run.arrived, due) - run.waiting_from;
  }
  counts.pace = run.fastest == 0 ? 0 : std::max(2 * run.fastest, run.users_most);
  if (run.reached.size() < kMaxReached) run.reached.push_back({border, counts.taken, counts.pace});
}

// Hands over a window each second from `second` on, and the last one when everything has ended.
task<void> Engine::tick(Instant start, uint64_t second) {
  bool going = true;
  while (going) {
    going = co_await state_.runtime.sleep_until(start + Duration::seconds(static_cast<int64_t>(second) + 1), &ended_);
    // A thread that was stopped beyond its permit tells no seconds that passed meanwhile: they belong to others.
    if (going && state_.permit_is_over(state_.runtime.now())) {
      going = co_await state_.runtime.sleep_until(Instant::never(), &ended_);
    }
    const Instant begin = start + Duration::seconds(static_cast<int64_t>(second));
    const Instant end = going ? begin + Duration::seconds(1) : state_.runtime.now();
    state_.window->second = second++;
    for (const auto& run : runs_) {
      executors_.drop_expired(*run, !going);
      metrics::WorkflowWindow& counts = state_.window->workflows[run->index];
      // The sink may have left this window here in the seconds before.
      counts.vus_active = std::max(counts.vus_active, std::exchange(run->active_most, run->active));
      counts.vus_allocated = static_cast<int64_t>(run->vus.size()) - run->resting;
      counts.ran += std::max(std::min(end, run->ended) - std::max(begin, run->from), Duration::zero());
      if (state_.assignment.reported) report(*run, counts, start + Duration::seconds(static_cast<int64_t>(second)));
    }
    Tally so_far = tally();
    so_far.vus_active = 0;
    metrics::Window* next = state_.sink.exchange(state_.window, !going);
    if (next != nullptr) {
      state_.window = next;
      handed_over_ = so_far;
    }
    if (state_.instruments.requests == nullptr) continue;
    if (going) {
      state_.instruments.requests->flush();
    } else {
      state_.instruments.requests->close();
    }
  }
}

}  // namespace bellwether::vuser
