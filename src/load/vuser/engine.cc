#include "load/vuser/engine.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/overloaded.h"
#include "core/runtime/scope.h"
#include "load/plan/feeder.h"
#include "load/vuser/engine_state.h"

namespace bellwether::vuser {

using runtime::task;

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

Engine::Engine(runtime::Runtime& runtime, const plan::Plan& plan, EngineShare share, WindowSink& sink,
               metrics::Window* first, const ProgramLoader* programs)
    : runtime_(runtime),
      plan_(plan),
      share_(std::move(share)),
      sink_(sink),
      window_(first),
      stopped_(&killed_),
      recorder_(plan, runtime, window_, start_),
      client_(runtime),
      tokens_(runtime, plan, client_, *this),
      loader_(programs),
      code_thread_{runtime, client_.origins(), readers_, window_, recorder_, tokens_.values()} {
  check(share_.part < share_.parts, "a part is one of its parts");
  for (const uint16_t workflow : share_.workflows) {
    check(workflow < plan.workflows.size(), "the workflow is one of the plan");
  }
}

Engine::~Engine() = default;

namespace {

// Which of the plan's access tokens its requests come with.
std::optional<uint16_t> token_of(const plan::Step& step) {
  if (const auto* call = std::get_if<plan::HttpCall>(&step.work)) return call->token;
  const auto* code = std::get_if<plan::CodeCall>(&step.work);
  return code != nullptr ? code->base.token : std::nullopt;
}

}  // namespace

Status Engine::prepare() {
  uint32_t taken = 0;  // engines by the workflows before this one: those with few users do not all meet on the first
  for (std::size_t i = 0; i < plan_.workflows.size(); ++i) {
    const auto& mine = share_.workflows;
    if (!mine.empty() && std::find(mine.begin(), mine.end(), i) == mine.end()) continue;
    const plan::Workflow& workflow = plan_.workflows[i];
    // A part without a user would drop all of its arrivals.
    const uint32_t parts = std::clamp(plan::facts_of(workflow.executor).vus_most, 1U, share_.parts);
    const uint32_t part = (share_.part + share_.parts - taken) % share_.parts;
    taken = (taken + parts) % share_.parts;
    if (part >= parts) continue;
    auto run = std::make_unique<WorkflowRun>(i, workflow, &killed_, &stopped_, sink_);
    run->part = part;
    run->parts = parts;
    if (const auto* told = std::get_if<plan::ExternallyControlled>(&workflow.executor)) run->wanted = told->vus;
    for (const plan::Step& step : workflow.steps) {
      BW_TRY(auto prepared, PreparedStep::prepare(step, plan_.steps[step.id].measured, client_.origins(), readers_));
      run->steps.push_back(std::move(prepared));
      if (run->steps.back().is_call()) run->steps.back().deal(part, parts);
      if (const auto token = token_of(step)) tokens_.want(*token);
      BW_RETURN_IF_ERROR(prepare_code(*run, step));
      run->may_leave_out |= step.on_error == plan::OnError::kSkip;
    }
    runs_.push_back(std::move(run));
  }
  return {};
}

task<void> Engine::run(Instant start, Duration resume_at) {
  check(resume_at >= Duration::zero(), "nobody goes on before the beginning");
  start_ = start;
  std::vector<task<void>> workflows;
  for (std::size_t i = 0; i < runs_.size(); ++i) workflows.push_back(run_workflow(i, start, start + resume_at));
  runtime::Scope beside;
  beside.spawn(tokens_.renew(beside.cancellation()));
  task<void> ticker = tick(start, static_cast<uint64_t>(resume_at / Duration::seconds(1)));
  for (task<void>& workflow : workflows) co_await workflow;
  ended_.cancel();
  beside.cancel();
  co_await beside.join();
  co_await ticker;
}

void Engine::stop() {
  stopped_.cancel();
  for (const auto& run : runs_) {
    const Instant latest = runtime_.now() + run->workflow.graceful_stop;
    if (!run->overtime.armed() || run->overtime.deadline() > latest) runtime_.timers().arm(run->overtime, latest);
  }
}

void Engine::kill() { killed_.cancel(); }

void Engine::pause() {
  paused_ = true;
  for (const auto& run : runs_) run->change.tell();
}

void Engine::resume() {
  paused_ = false;
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
    // What is counted, and not timed, nobody else can go on with by the clock alone.
    if (!plan::facts_of(run->workflow.executor).follows_clock || run->until != Instant::never()) continue;
    run->until = start_ + at;
    if (run->schedule) run->arrivals = std::min(run->arrivals, run->schedule->due_before(run->until - run->start));
    runtime_.timers().arm(run->handing_over, run->until);
    const Instant latest = run->until + run->workflow.graceful_stop;
    if (run->overtime.armed() && run->overtime.deadline() > latest) runtime_.timers().arm(run->overtime, latest);
  }
}

Tally Engine::tally() const {
  Tally sum = handed_over_;
  for (const metrics::StepWindow& step : window_->steps) {
    sum.requests += step.count;
    sum.failed += step.failed;
  }
  for (const metrics::WorkflowWindow& workflow : window_->workflows) {
    sum.iterations += workflow.iterations;
    sum.dropped += workflow.dropped;
  }
  for (const auto& run : runs_) sum.vus_active += run->active;
  return sum;
}

Headway Engine::look() {
  const Instant now = runtime_.now();
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
    // Not those that have just come due: a rare one would be served in one second, and due in the next.
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

// Hands over a window each second from `second` on, and the last one when everything has ended.
task<void> Engine::tick(Instant start, uint64_t second) {
  bool going = true;
  while (going) {
    going = co_await runtime_.sleep_until(start + Duration::seconds(static_cast<int64_t>(second) + 1), &ended_);
    window_->second = second++;
    for (const auto& run : runs_) {
      drop_expired(*run, !going);
      metrics::WorkflowWindow& counts = window_->workflows[run->index];
      counts.vus_active = std::exchange(run->active_most, run->active);
      counts.vus_allocated = static_cast<int64_t>(run->vus.size()) - run->resting;
    }
    Tally so_far = tally();
    so_far.vus_active = 0;
    metrics::Window* next = sink_.exchange(window_, !going);
    if (next != nullptr) {
      window_ = next;
      handed_over_ = so_far;
    }
  }
}

task<void> Engine::run_workflow(std::size_t index, Instant start, Instant from) {
  WorkflowRun& run = *runs_[index];
  run.start = start + run.workflow.start_time;
  run.from = std::max(run.start, from);
  if (run.workflow.timeout) runtime_.timers().arm(run.timeout, start + *run.workflow.timeout);
  const bool time_came = co_await runtime_.sleep_until(run.from, &run.waiting);
  if (!time_came) co_return;
  co_await std::visit(Overloaded{[&](const plan::ConstantVus& how) { return constant_vus(run, how); },
                                 [&](const plan::RampingVus& how) { return ramping_vus(run, how); },
                                 [&](const plan::Iterations& how) { return iterations(run, how); },
                                 [&](const plan::ArrivalRate& how) { return arrivals(run, how); },
                                 [&](const plan::ExternallyControlled& how) { return externally_controlled(run, how); },
                                 [&](const plan::Once&) { return once(run); }},
                      run.workflow.executor);
  run.overtime.disarm();
  run.timeout.disarm();
  run.handing_over.disarm();
}

// False: nothing of it is to be begun any more.
bool Engine::begins(WorkflowRun& run, Duration length) {
  run.end = run.start + length;
  if (run.from >= run.last()) return false;
  if (!stopped_.cancelled()) runtime_.timers().arm(run.overtime, run.last() + run.workflow.graceful_stop);
  return true;
}

task<void> Engine::once(WorkflowRun& run) {
  run.vus.push_back(std::make_unique<Vu>(1, run.workflow.slot_count, &run.cancel));
  run.end = run.start;
  co_await run_iteration(run, *run.vus.back(), runtime_.now());
  ++run.left;
}

// One row of each file of data for the iteration that begins.
void Engine::take_rows(WorkflowRun& run, Vu& vu) {
  for (const plan::Feed& feed : run.workflow.feeds) {
    const uint64_t random = feed.pick == plan::Feed::Pick::kRandom ? runtime_.prng().below(feed.feeder->rows()) : 0;
    const std::string_view row =
        feed.feeder->row(plan::row_of(feed, run.rows_taken, run.part, run.parts, vu.number, random));
    for (const plan::RowField& field : feed.fields) {
      if (!feed.feeder->read(row, field, vu.values.begin(field.slot))) vu.values.forget(field.slot);
    }
  }
  ++run.rows_taken;
}

task<Engine::Flow> Engine::run_iteration(WorkflowRun& run, Vu& vu, Instant due) {
  const Instant began = runtime_.now();
  run.active_most = std::max(run.active_most, ++run.active);
  ++run.begun;
  vu.values.clear();
  if (!run.workflow.feeds.empty()) take_rows(run, vu);
  if (run.may_leave_out) vu.left_out.assign(run.steps.size(), false);
  if (!run.programs.empty()) begin_code_iteration(run, vu);
  if (!run.workflow.keeps_cookies) vu.session.cookies.clear();
  Flow flow = Flow::kGoOn;
  for (const std::vector<uint16_t>& layer : run.workflow.layers) {
    if (layer.size() == 1) {
      if (run.may_leave_out && leaves_out(run, vu, layer.front())) continue;
      flow = co_await run_step(run, vu, run.steps[layer.front()], due);
    } else {
      for (const uint16_t index : layer) {
        if (!run.may_leave_out || !leaves_out(run, vu, index))
          vu.branches.push_back(run_step(run, vu, run.steps[index], due));
      }
      for (task<Flow>& branch : vu.branches) {
        const Flow ended = co_await branch;
        if (ended > flow) flow = ended;
      }
      vu.branches.clear();
    }
    if (flow != Flow::kGoOn || vu.cancel->cancelled()) break;
    due = runtime_.now();
  }
  --run.active;
  ++vu.iteration;
  metrics::WorkflowWindow& counts = window_->workflows[run.index];
  if (vu.cancel->cancelled()) {
    ++counts.interrupted;
  } else {
    ++counts.iterations;
    counts.iteration.record(runtime_.now() - began);
    if (!run.workflow.provides.empty()) provide(run, vu);
  }
  co_return flow;
}

}  // namespace bellwether::vuser
