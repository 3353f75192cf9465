#include "load/local/local_run.h"

#include <algorithm>
#include <utility>

#include "core/runtime/scope.h"
#include "load/aggregate/metric.h"
#include "load/plan/context.h"
#include "load/vuser/prepared_step.h"

namespace bellwether::node {
namespace {

// Threads need a moment to wake up; the schedule starts when all are ready.
constexpr Duration kHeadStart = Duration::millis(20);

uint64_t seconds_up(Duration span) { return static_cast<uint64_t>((span.ns() + 999'999'999) / 1'000'000'000); }

}  // namespace

LocalRun::LocalRun(runtime::EpollRuntime& control, const plan::Plan& plan, LocalOptions options,
                   std::optional<Observer> observer)
    : control_(control),
      plan_(plan),
      options_(std::move(options)),
      observer_(observer),
      totals_(plan),
      programs_(script::Compiled::kRun, options_.scripts),
      workflows_(plan.workflows.size()),
      cores_(plan::cores_used(plan, options_.cores)),
      itself_(cores_) {
  for (plan::Stage& planned : plan::stages_of(plan, options_.cores)) {
    Stage& stage = stages_.emplace_back();
    for (const plan::CoreGrant& grant : planned.grants) stage.workflows.push_back(grant.workflow);
    if (planned.apart) stage.grants = std::move(planned.grants);
  }
  for (std::size_t w = 0; w < plan.workflows.size(); ++w) {
    links_.push_back(plan::links_of(plan.workflows[w]));
    const auto* told = std::get_if<plan::ExternallyControlled>(&plan.workflows[w].executor);
    if (told != nullptr) wanted_[static_cast<uint16_t>(w)] = told->vus;
  }
}

// A load thread each: all workflows on every core, or those with separate cores on these.
std::vector<vuser::EngineAssignment> LocalRun::assignments_of(const Stage& stage) const {
  std::vector<vuser::EngineAssignment> assignments;
  for (const plan::CoreGrant& grant : stage.grants) {
    const auto& runs = stage.workflows;
    if (std::find(runs.begin(), runs.end(), grant.workflow) == runs.end()) continue;
    for (uint32_t part = 0; part < grant.cores; ++part) assignments.push_back({part, grant.cores, {grant.workflow}});
  }
  for (uint32_t part = 0; stage.grants.empty() && part < options_.cores; ++part) {
    assignments.push_back({part, options_.cores, stage.workflows});
  }
  return assignments;
}

std::unique_ptr<LoadGroup> LocalRun::group_for(const Stage& stage, const plan::Plan& plan) {
  GroupOptions group{.assignments = assignments_of(stage),
                     .pin = options_.pin,
                     .seed = options_.seed,
                     .programs = &programs_,
                     .request_log = options_.request_log,
                     .watch = options_.watch};
  return std::make_unique<LoadGroup>(control_, plan, std::move(group), *this);
}

Status LocalRun::prepare() {
  for (Stage& stage : stages_) {
    if (uses_values(stage)) {
      for (const uint16_t w : stage.workflows) {
        BW_RETURN_IF_ERROR(vuser::try_to_prepare(plan_.workflows[w]));
      }
      continue;
    }
    stage.group = group_for(stage, plan_);
    BW_RETURN_IF_ERROR(stage.group->prepare());
  }
  return {};
}

bool LocalRun::uses_values(const Stage& stage) const {
  return std::ranges::any_of(stage.workflows, [this](uint16_t w) { return !plan_.workflows[w].uses.empty(); });
}

// A teardown also follows a stop, but not a second one, and not a timeout.
bool LocalRun::runs_all_the_same(const Stage& stage) const {
  return interrupts_ == 1 && ending_ != aggregate::Ending::kTimeout &&
         std::ranges::all_of(stage.workflows, [this](uint16_t w) { return plan_.workflows[w].is_teardown; });
}

runtime::task<void> LocalRun::run() {
  start_ = control_.read_clock() + kHeadStart;
  started_at_ = WallTime{control_.wall_now().unix_ns + kHeadStart.ns()};
  if (options_.request_log != nullptr) options_.request_log->begin(start_, started_at_);
  going_ = true;
  runtime::Scope beside;
  if (plan_.timeout) beside.spawn(watch_timeout(this, beside.cancellation()));
  for (Stage& stage : stages_) {
    if (interrupts_ > 0 && !runs_all_the_same(stage)) continue;
    Status ready = leave_out_skipped(stage);
    if (ready && !stage.workflows.empty()) ready = give_values(stage);
    if (!ready) interrupt(aggregate::Ending::kOnError, ready.error().message);
    if (!ready || stage.workflows.empty()) continue;
    // Seconds of the series are whole, so a stage begins with one.
    const Duration past = control_.read_clock() + kHeadStart - start_;
    const uint64_t base = stage_ == nullptr ? 0 : seconds_up(past);
    const Duration begin = Duration::seconds(static_cast<int64_t>(base));
    stage_ = &stage;
    for (const uint16_t w : stage.workflows) workflows_[w].began = begin;
    if (paused_) stage.group->pause();
    for (const auto& [w, vus] : wanted_) stage.group->scale(w, vus);
    co_await stage.group->run(start_ + begin, {}, base);
    // A stage that was stopped while it waited for its second ended before it.
    const Duration lived = std::max(control_.read_clock() - start_, Duration::zero());
    elapsed_ = std::min(begin + stage.group->elapsed(), lived);
    end_stage(stage);
  }
  going_ = false;
  itself_.end(elapsed_);
  for (std::size_t w = 0; w < workflows_.size() && ending_ == aggregate::Ending::kCompleted; ++w) {
    if (!workflows_[w].timed_out) continue;
    ending_ = aggregate::Ending::kWorkflowTimeout;
    why_ = timeout_of(static_cast<uint16_t>(w));
  }
  beside.cancel();
  co_await beside.join();
  if (options_.request_log == nullptr) co_return;
  const RequestLog::Outcome& logged = options_.request_log->end();
  if (logged.left_out > 0) {
    note("request_log", fmt::format("{} rows were left out, because the file took them too slowly", logged.left_out));
  }
}

runtime::task<void> LocalRun::watch_timeout(LocalRun* self, runtime::Cancellation* cancel) {
  const Duration timeout = *self->plan_.timeout;
  const bool over = co_await self->control_.sleep_until(self->start_ + timeout, cancel);
  if (!over || !self->going_) co_return;
  // A run that already stops has no more time either.
  if (self->interrupts_ == 0) self->interrupt(aggregate::Ending::kTimeout, plan::timeout_text(timeout));
  if (self->stage_ != nullptr) self->stage_->group->kill();
}

plan::WorkflowProgress LocalRun::progress(uint16_t workflow) const {
  const Ran& ran = workflows_[workflow];
  if (ran.timed_out || !ran.skipped_because.empty()) return plan::WorkflowProgress::kEnded;
  return ran.began ? plan::WorkflowProgress::kCompleted : plan::WorkflowProgress::kOpen;
}

bool LocalRun::is_skipped(uint16_t workflow) {
  const auto need = plan::waits_in_vain_for(links_[workflow], [this](uint16_t one) { return progress(one); });
  if (!need) return false;
  workflows_[workflow].skipped_because =
      fmt::format("'{}' is {}", links_[*need].name, workflows_[*need].timed_out ? "timed_out" : "skipped");
  return true;
}

Status LocalRun::leave_out_skipped(Stage& stage) {
  const std::size_t skipped = std::erase_if(stage.workflows, [this](uint16_t w) { return is_skipped(w); });
  if (skipped == 0 || stage.workflows.empty() || stage.group == nullptr) return {};
  stage.group = group_for(stage, plan_);
  return stage.group->prepare();
}

// Puts the values of earlier workflows into the plan of a stage, and prepares the stage with it.
Status LocalRun::give_values(Stage& stage) {
  if (!uses_values(stage)) return {};
  plan::Plan plan = plan_;
  for (const uint16_t w : stage.workflows) {
    for (auto& [kind, text] : plan::remarks_on_values(values_, links_, w)) note(std::move(kind), std::move(text));
    if (auto lack = plan::lack_of(values_, links_, w)) return fail(Errc::kNotFound, std::move(*lack));
    plan = plan::with_given(std::move(plan), w, values_.given_to(links_[w]));
  }
  stage.plan = std::make_unique<plan::Plan>(std::move(plan));
  stage.group = group_for(stage, *stage.plan);
  return stage.group->prepare();
}

void LocalRun::end_stage(const Stage& stage) {
  for (const uint16_t w : stage.workflows) {
    workflows_[w].elapsed = stage.group->elapsed(w);
    for (const plan::Provided& one : stage.group->provided(w)) {
      if (one.listed || !one.too_large) {
        values_.merge(w, 0, one);
      } else {
        auto [kind, text] = plan::remark_on_too_large(links_[w], one.provide);
        note(std::move(kind), std::move(text));
      }
    }
  }
}

void LocalRun::interrupt(aggregate::Ending why, std::string detail) {
  if (!going_) return;
  if (interrupts_ == 0) {
    ending_ = why;
    if (why == aggregate::Ending::kSignal || why == aggregate::Ending::kOnError) why_ = detail;
    note("stopping", std::move(detail));
  }
  ++interrupts_;
  if (stage_ == nullptr || !stage_->group->running()) return;
  if (interrupts_ == 1) {
    stage_->group->stop();
  } else {
    stage_->group->kill();
  }
}

void LocalRun::stop(std::string detail) {
  const bool endless = std::ranges::any_of(
      plan_.workflows, [](const plan::Workflow& workflow) { return plan::facts_of(workflow.executor).endless; });
  interrupt(endless ? aggregate::Ending::kCompleted : aggregate::Ending::kCancelled, std::move(detail));
}

void LocalRun::pause() {
  if (!going_ || paused_) return;
  paused_ = true;
  note("paused", "no iterations start until the run is resumed");
  if (stage_ != nullptr) stage_->group->pause();
}

void LocalRun::resume() {
  if (!going_ || !paused_) return;
  paused_ = false;
  note("resumed", "the run continues");
  if (stage_ != nullptr) stage_->group->resume();
}

Status LocalRun::scale(const std::string& workflow, uint32_t vus) {
  std::vector<plan::Told> told;
  for (const auto& [w, now] : wanted_) {
    told.push_back({w, plan_.workflows[w].name, plan::facts_of(plan_.workflows[w].executor).vus_most});
  }
  BW_TRY(const auto which, plan::find_told(told, workflow, vus));
  const plan::Workflow& one = plan_.workflows[which];
  note("scaled", fmt::format("workflow '{}': {} to {} virtual users", one.name, wanted_[which], vus));
  wanted_[which] = vus;
  if (stage_ != nullptr) stage_->group->scale(which, vus);
  return {};
}

Duration LocalRun::running_for() const {
  return going_ ? std::max(Duration::zero(), control_.now() - start_) : elapsed_;
}

void LocalRun::second_over(const metrics::Window& window, Duration covered) {
  totals_.add(window, covered);
  if (observer_) observer_->measured(window, covered);
  for (SelfWatch::News& news : itself_.second(running_for(), window, covered)) {
    note(std::move(news.kind), std::move(news.text));
  }
  if (!stage_->group->running()) return;
  if (observer_) observer_->second_over(totals_);
  if (interrupts_ > 0) return;
  if (const auto failed = aggregate::abort_due(totals_)) {
    const plan::Threshold& threshold = plan_.thresholds[*failed];
    interrupt(aggregate::Ending::kThreshold,
              fmt::format("threshold {} {} failed", threshold.metric_text, threshold.expression));
  }
}

void LocalRun::aborted_by(const std::string& step) {
  if (interrupts_ == 0)
    interrupt(aggregate::Ending::kOnError, fmt::format("step {} failed and says on_error: abort", step));
}

void LocalRun::noted(const std::string& text) { note("script", text); }

std::string LocalRun::timeout_of(uint16_t workflow) const {
  const plan::Workflow& one = plan_.workflows[workflow];
  return fmt::format("workflow '{}': {}", one.name, plan::timeout_text(*one.timeout));
}

void LocalRun::timed_out(uint16_t workflow) {
  workflows_[workflow].timed_out = true;
  note("workflow_timed_out", timeout_of(workflow));
}

void LocalRun::note(std::string kind, std::string detail) {
  events_.push_back({std::max(Duration::zero(), control_.now() - start_), std::move(kind), std::move(detail)});
  if (observer_) observer_->happened(events_.back());
}

std::vector<report::WorkflowState> LocalRun::workflow_states() const {
  std::vector<report::WorkflowState> out;
  for (std::size_t w = 0; w < workflows_.size(); ++w) {
    const Duration start = plan_.workflows[w].start_time;
    const Duration ran = workflows_[w].elapsed - start;
    const bool by_itself = ending_ == aggregate::Ending::kCompleted || ending_ == aggregate::Ending::kWorkflowTimeout;
    if (!workflows_[w].skipped_because.empty()) {
      out.push_back({"skipped", workflows_[w].skipped_because, Duration::zero()});
    } else if (!workflows_[w].began) {
      out.push_back({"skipped", "the run ended before the workflows that it depends on", Duration::zero()});
    } else if (workflows_[w].timed_out) {
      const Duration most = std::max(*plan_.workflows[w].timeout - start, Duration::zero());
      out.push_back({"timed_out", "", std::clamp(ran, Duration::zero(), most)});
    } else if (by_itself) {
      out.push_back({"completed", "", std::max(ran, Duration::zero())});
    } else if (ran <= Duration::zero()) {
      out.push_back({"skipped", "the run ended before its start time", Duration::zero()});
    } else {
      out.push_back({"stopped", "", ran});
    }
  }
  return out;
}

}  // namespace bellwether::node
