#include "jobs/dispatch/job_kernel.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace bellwether::dispatch {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

uint64_t seconds_up(Duration span) { return static_cast<uint64_t>((span.ns() + kSecondNs - 1) / kSecondNs); }

}  // namespace

JobKernel::JobKernel(JobSpec spec, JobRules rules, JobRecord record, Prng prng)
    : book_(std::move(spec), rules, std::move(record)), pool_(book_, prng) {
  if (record_.workflows.empty()) record_.workflows = new_workflows(spec_);
  check(record_.workflows.size() == spec_.size(), "a job has the workflows of its plan");
}

std::vector<WorkflowRecord> JobKernel::new_workflows(const JobSpec& spec) {
  std::vector<WorkflowRecord> out;
  for (const WorkflowSpec& one : spec) out.push_back({.vus = one.told_vus.value_or(0)});
  return out;
}

AssignmentOrder JobKernel::order(AssignmentId id, JobFence fence) const {
  const AssignmentRecord* assignment = find(id);
  check(assignment != nullptr, "an order is for an assignment of the job");
  const WorkflowSpec& spec = spec_[assignment->workflow];
  AssignmentOrder order;
  order.job = record_.id;
  order.assignment = id;
  order.fence = fence;
  order.workflow = assignment->workflow;
  order.parts = assignment->parts;
  order.cores = assignment->cores;
  order.squeeze = assignment->squeeze;
  order.base_second = record_.workflows[assignment->workflow].base_second;
  order.seed = record_.seed + (uint64_t{assignment->workflow} << 32U);
  order.bundle = record_.bundle;
  order.kill_grace = rules_.kill_grace;
  order.isolation_limit = rules_.isolation_limit;
  order.context_version = record_.context_version;
  order.given = layers_.context().given_to(spec);
  if (spec.length > Duration::zero()) order.execution_limit = spec.length + spec.graceful_stop + rules_.overtime;
  order.on_overtime = spec.on_overtime;
  if (spec.counted) order.iterations = assignment->iterations;
  if (spec.told_vus) order.vus = record_.workflows[assignment->workflow].vus;
  order.permit = rules_.permit;
  const bool is_old = !record_.witnesses_before.empty() && !book_.may_tell_witnesses();
  order.witnesses = is_old ? record_.witnesses_before : record_.witnesses;
  order.witnesses_since = is_old ? 0 : record_.witnesses_since;
  order.life = assignment->life;
  return order;
}

// --- events ----------------------------------------------------------------------------------------------------------

void JobKernel::stop(Instant now, const JobStop& stop, const std::set<uint16_t>& workflows, JobEffects& out) {
  if (!book_.owned || book_.over || book_.concluding) return;
  const bool cancelled = stop.cause == JobStop::Cause::kCancelled;
  if (workflows.empty()) {
    if (!teardown_.take_stop(now, stop)) return;
    if (cancelled && record_.state != JobState::kCancelling) book_.become(JobState::kCancelling, stop.why, out);
  }
  std::string names;
  for (const uint16_t w : workflows) names += fmt::format("{}{}'", names.empty() ? "'" : ", '", spec_[w].name);
  if (!names.empty())
    book_.add_event(now, "workflow_stopping", fmt::format("{}: {}{}", names, stop.why, JobTeardown::by_whom(stop.by)));
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (!workflows.empty() && !workflows.contains(w)) continue;
    const WorkflowState state = record_.workflows[w].state;
    if (workflows.empty() && !book_.is_stopped(w)) continue;
    // A later cancellation ends what an earlier one lets finish.
    if (is_final(state) && (stop.how == StopHow::kGraceful || !record_.workflows[w].graceful)) continue;
    book_.stop_assignments(now, w, stop.how, stop.why, out);
    if (is_final(state)) {
      record_.workflows[w].at_once = true;
      continue;
    }
    const bool begun = record_.workflows[w].begun;
    if (!workflows.empty() || (!begun && cancelled)) {
      book_.become(w, WorkflowState::kCancelled, stop.why, out);
      if (!workflows.empty()) book_.lose_rest(now, w);
      record_.workflows[w].graceful = stop.how == StopHow::kGraceful;
    } else if (!begun) {
      book_.become(w, state == WorkflowState::kPending ? WorkflowState::kSkipped : WorkflowState::kCancelled, stop.why,
                   out);
    }
  }
  book_.changed = true;
  advance(now, out);
}

Status JobKernel::scale(Instant now, const std::string& workflow, uint32_t vus, const std::string& by,
                        JobEffects& out) {
  std::vector<plan::Told> told;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (spec_[w].told_vus) told.push_back({w, spec_[w].name, spec_[w].vus});
  }
  BW_TRY(const auto w, plan::find_told(told, workflow, vus));
  WorkflowRecord& one = record_.workflows[w];
  const std::string whose = fmt::format("workflow '{}'", spec_[w].name);
  if (is_final(one.state)) return fail(Errc::kClosed, "{} has ended: it is {}", whose, to_string(one.state));
  if (one.vus == vus) return {};
  book_.add_event(now, "scaled",
                  fmt::format("{}: {} to {} virtual users{}", whose, one.vus, vus, JobTeardown::by_whom(by)));
  one.vus = vus;
  book_.changed = true;
  for (const AssignmentRecord& assignment : record_.assignments) {
    const bool listens = assignment.state == AssignmentState::kReady || assignment.state == AssignmentState::kRunning;
    if (assignment.workflow == w && listens) book_.to_hold.push_back(job_effect::Scale{assignment.id});
  }
  advance(now, out);
  return {};
}

void JobKernel::workers_changed(Instant now, std::vector<WorkerSight> workers, JobEffects& out) {
  pool_.take_in(std::move(workers));
  std::map<std::string_view, uint64_t> lives;
  // What a new owner heard before it took over may be of a life before that of the record.
  for (const WorkerSight& worker : pool_.workers()) {
    if (worker.heard >= adopted_at_) lives[worker.name] = worker.life;
  }
  // The worker's process has restarted: assignments of its former life are gone.
  std::map<std::string, uint64_t> older;
  for (const AssignmentRecord& assignment : record_.assignments) {
    const auto known = is_live(assignment) ? lives.find(assignment.worker) : lives.end();
    if (known != lives.end() && known->second != assignment.life) older.try_emplace(assignment.worker, assignment.life);
  }
  for (const auto& [worker, life] : older) worker_gone(now, worker, life, "it was restarted", out);
  advance(now, out);
}

void JobKernel::concluded(Instant now, JobEffects& out) {
  if (!book_.concluding || is_final(record_.state)) return;
  const JobState to = outcome();
  record_.ended = book_.wall(now);
  std::string why;
  for (uint16_t w = 0; w < spec_.size() && why.empty(); ++w) {
    if (record_.workflows[w].state != WorkflowState::kCompleted) why = record_.workflows[w].why;
  }
  if (record_.state == JobState::kRunning) book_.become(JobState::kCompleting, {}, out);
  // The teardown does not change the reason.
  if (record_.stop && (to == JobState::kCancelled || to == JobState::kTimedOut)) why = record_.stop->why;
  book_.become(to, to == JobState::kCompleted ? std::string() : why, out);
  book_.held.push_back({record_.revision + 1, job_effect::Over{}});
  book_.flush(out);
}

void JobKernel::tick(Instant now, JobEffects& out) {
  if (!book_.owned || book_.over) return;
  std::vector<AssignmentId> late;
  for (const AssignmentRecord& assignment : record_.assignments) {
    if (is_live(assignment) && book_.since[assignment.id] + time_.limit_of(assignment) <= now)
      late.push_back(assignment.id);
  }
  time_.look_for_overdue(now);
  for (const AssignmentId id : late) {
    AssignmentRecord* assignment = book_.find(id);
    if (assignment == nullptr || !is_live(*assignment)) continue;
    const bool asked_to_stop =
        assignment->state == AssignmentState::kStopping || assignment->handed_over || book_.is_spare(*assignment);
    const bool ends = assignment->state == AssignmentState::kRunning && !asked_to_stop;
    if (!ends && !is_final(record_.workflows[assignment->workflow].state) && fence_.may_run(now, *assignment)) {
      // It may still run, so nobody else may. A worker that keeps no permits may be silent for ever.
      const uint16_t workflow = assignment->workflow;
      book_.since[id] = now;
      if (!record_.workflows[workflow].begun && adopted_at_ + rules_.dispatch_limit <= now) {
        book_.fail_workflow(now, workflow, WorkflowState::kFailed,
                            fmt::format("worker '{}' does not say whether it has started '{}'", assignment->worker,
                                        spec_[workflow].name),
                            out);
      }
      continue;
    }
    if (assignment->state == AssignmentState::kOffered) {
      offered(now, id, OfferAnswer::kNotNow, "it did not answer an offer in time", out);
      continue;
    }
    const uint16_t workflow = assignment->workflow;
    lose(now, *assignment, "it delivered no result in time", out);
    if (!asked_to_stop && !is_final(record_.workflows[workflow].state)) {
      book_.fail_workflow(
          now, workflow, WorkflowState::kFailed,
          fmt::format("the result of '{}' from worker '{}' is missing", spec_[workflow].name, assignment->worker), out);
    }
  }
  look_at_fence(now, out);
  if (time_.timeout_at() <= now) {
    stop(now, {JobStop::Cause::kTimeout, StopHow::kAtOnce, {}, plan::timeout_text(*rules_.timeout)}, {}, out);
  }
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (time_.timeout_at(w) <= now) time_.time_out(now, w, out);
  }
  advance(now, out);
}

Instant JobKernel::wake() const {
  if (!book_.owned || book_.over || is_final(record_.state)) return Instant::never();
  Instant next = std::min(
      {moves_.next_move(), layers_.wake(), time_.timeout_at(), teardown_.end(), fence_.wake(), groups_.wake()});
  if (!asking_.empty() || !asking_clock_.empty()) next = std::min(next, asked_until_);
  for (const AssignmentRecord& assignment : record_.assignments) {
    const auto since = book_.since.find(assignment.id);
    if (!is_live(assignment) || since == book_.since.end()) continue;
    next = std::min({next, since->second + time_.limit_of(assignment), time_.overdue_at(assignment)});
  }
  for (uint16_t w = 0; w < spec_.size(); ++w) next = std::min(next, time_.timeout_at(w));
  return next;
}

// --- workers that are gone -------------------------------------------------------------------------------------------

void JobKernel::worker_gone(Instant now, const std::string& worker, uint64_t life, const std::string& why,
                            JobEffects& out) {
  fence_.process_ended(now, worker, life);
  lose_worker(now, worker, life, why, out);
}

void JobKernel::doubted(Instant now, const std::string& worker, const std::string& why, JobEffects& out) {
  if (!fence_.doubt(now, worker)) return lose_worker(now, worker, 0, why, out);
  for (AssignmentRecord& assignment : record_.assignments) {
    if (assignment.worker != worker || !is_live(assignment) || is_settled(assignment)) continue;
    if (fence_.may_run(now, assignment)) continue;
    pool_.exclude(now, assignment);
    lose(now, assignment, why, out);
  }
  look_at_fence(now, out);
  advance(now, out);
}

void JobKernel::denied(Instant now, const Witness& silent, const Witness& witness, Duration rest, JobEffects& out) {
  fence_.denied(now, silent, witness, rest);
  if (fence_.wake() > now) return;
  look_at_fence(now, out);
  advance(now, out);
}

void JobKernel::look_at_fence(Instant now, JobEffects& out) {
  if (!book_.owned || book_.over) return;
  for (const LoadFence::Gone& one : fence_.look(now, out)) lose_worker(now, one.who.worker, one.who.life, one.why, out);
}

void JobKernel::lose_worker(Instant now, const std::string& worker, uint64_t life, const std::string& why,
                            JobEffects& out) {
  bool any = false;
  bool others = false;  // of another life
  for (AssignmentRecord& assignment : record_.assignments) {
    if (assignment.worker != worker || !is_live(assignment)) continue;
    if (life != 0 && assignment.life != life) {
      others = true;
      continue;
    }
    if (is_settled(assignment)) continue;
    pool_.exclude(now, assignment);
    if (!std::exchange(any, true)) book_.add_event(now, "worker_lost", fmt::format("worker '{}': {}", worker, why));
    lose(now, assignment, why, out);
  }
  if (!others) asking_.erase(worker);
  asking_clock_.erase(worker);
  advance(now, out);
}

// --- the life of the job ---------------------------------------------------------------------------------------------

void JobKernel::advance(Instant now, JobEffects& out) {
  if (!book_.owned || book_.over || is_final(record_.state)) return book_.flush(out);
  if (book_.adopting) {
    if ((!asking_.empty() || !asking_clock_.empty()) && now < asked_until_) return book_.flush(out);
    adopted(now, out);
  }
  for (uint16_t w = 0; w < spec_.size(); ++w) judge(now, w, out);
  book_.skip_dependents(out);
  teardown_.look(now, out);
  time_.end_paused(now, out);
  if (!book_.all_ended() && (!record_.stop || teardown_.may_begin())) {
    if (!book_.any_active()) {
      groups_.plan(now, out);
    } else {
      if (book_.zero) fence_.renew_witnesses(now, pool_);
      groups_.fill_gaps(now, out);
      if (!begin_group(now, out)) return;
      moves_.empty_workers(now, out);
      moves_.rebalance(now);
      moves_.move_on(now, out);
      begin_ready(now, out);
    }
  }
  if (book_.all_ended()) conclude(now, out);
  book_.flush(out);
}

void JobKernel::begin_ready(Instant now, JobEffects& out) {
  for (AssignmentRecord& assignment : record_.assignments) {
    if (assignment.state == AssignmentState::kReady && record_.workflows[assignment.workflow].begun)
      begin_assignment(now, assignment, out);
  }
}

// The whole group begins at one instant, when all of it is ready. False: it cannot, and the job stops.
bool JobKernel::begin_group(Instant now, JobEffects& out) {
  std::vector<uint16_t> group;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    const WorkflowRecord& one = record_.workflows[w];
    if (one.begun || !book_.is_active(w)) continue;
    if (!book_.gaps(w).empty()) return true;
    group.push_back(w);
  }
  if (group.empty()) return true;
  const auto waits = [&](const AssignmentRecord& assignment) {
    const bool is_open = assignment.state == AssignmentState::kOffered || book_.may_have_begun(assignment);
    return is_open && !record_.workflows[assignment.workflow].begun;
  };
  if (std::any_of(record_.assignments.begin(), record_.assignments.end(), waits)) return true;
  for (const uint16_t w : group) {
    if (const auto lack = plan::lack_of(layers_.context(), spec_, w)) {
      book_.add_event(now, "value_missing", *lack);
      stop(now, {JobStop::Cause::kOnError, StopHow::kGraceful, {}, *lack}, {}, out);
      return false;
    }
  }
  const Instant at = now + rules_.head_start;
  if (!book_.zero) {
    book_.zero = at;
    record_.started = book_.wall(at);
  }
  const uint64_t base = at > *book_.zero ? seconds_up(at - *book_.zero) : 0;
  for (const uint16_t w : group) {
    record_.workflows[w].begun = true;
    record_.workflows[w].base_second = base;
    book_.become(w, WorkflowState::kRunning, {}, out);
    for (auto& [kind, text] : plan::remarks_on_values(layers_.context(), spec_, w)) book_.add_event(now, kind, text);
  }
  begin_ready(now, out);
  if (record_.state == JobState::kDispatching) book_.become(JobState::kRunning, {}, out);
  groups_.begun();
  return true;
}

// A running workflow has ended when all its parts have, or when no worker will ever run the remaining ones.
void JobKernel::judge(Instant now, uint16_t workflow, JobEffects& out) {
  const WorkflowRecord& one = record_.workflows[workflow];
  if (!one.begun || is_final(one.state) || book_.has_live(workflow)) return;
  const std::vector<uint32_t> left = book_.gaps(workflow);
  if (!left.empty() && !book_.is_stopped(workflow) && !groups_.hopeless(now, workflow)) return;
  const Duration planned = book_.clock_of(workflow) + spec_[workflow].length - *book_.zero;
  if (!left.empty()) {
    const Duration until =
        spec_[workflow].length > Duration::zero() ? std::min(book_.elapsed(now), planned) : book_.elapsed(now);
    book_.lose_gaps(workflow, left, until);
  }
  const bool all_begun = spec_[workflow].counted && left.empty();
  const bool some =
      all_begun ||
      std::any_of(record_.assignments.begin(), record_.assignments.end(), [&](const AssignmentRecord& assignment) {
        return assignment.workflow == workflow && assignment.state == AssignmentState::kEnded && assignment.end &&
               (assignment.end->outcome == AssignmentOutcome::kCompleted ||
                assignment.end->outcome == AssignmentOutcome::kStopped ||
                assignment.end->outcome == AssignmentOutcome::kAborted ||
                assignment.end->outcome == AssignmentOutcome::kTimedOut);
      });
  const bool stopped = book_.is_stopped(workflow);
  if (stopped && record_.stop->cause == JobStop::Cause::kCancelled) {
    book_.become(workflow, WorkflowState::kCancelled, record_.stop->why, out);
  } else if (stopped && record_.stop->cause == JobStop::Cause::kTimeout) {
    book_.become(workflow, WorkflowState::kTimedOut, record_.stop->why, out);
  } else if (stopped && spec_[workflow].is_teardown && teardown_.was_stopped(workflow)) {
    book_.become(workflow, WorkflowState::kCancelled, record_.stop->why, out);
  } else if (some) {
    book_.become(workflow, WorkflowState::kRunning, "its lost parts stay lost", out);
    book_.become(workflow, WorkflowState::kCompleted, {}, out);
  } else {
    book_.become(workflow, WorkflowState::kFailed,
                 fmt::format("no remaining worker could run '{}'", spec_[workflow].name), out);
  }
}

void JobKernel::conclude(Instant now, JobEffects& out) {
  const auto live = [](const AssignmentRecord& assignment) { return is_live(assignment); };
  if (book_.concluding || teardown_.awaits() ||
      std::any_of(record_.assignments.begin(), record_.assignments.end(), live))
    return;
  book_.concluding = true;
  Duration elapsed;
  for (const AssignmentRecord& assignment : record_.assignments) {
    if (!assignment.streams) continue;
    const Duration base = Duration::seconds(static_cast<int64_t>(record_.workflows[assignment.workflow].base_second));
    if (assignment.end) elapsed = std::max(elapsed, base + assignment.end->ran);
    elapsed = std::max(elapsed, assignment.lost_from);
  }
  // Time after a stop of the job is no loss, nor is time after the run that nobody planned: a count of iterations, or
  // the lack of a duration, plans none. The clock of this owner may be behind the seconds that ran.
  const Duration lasted = std::max(elapsed, book_.elapsed(now));
  Duration planned = lasted;
  for (uint16_t w = 0; w < spec_.size() && !record_.stop; ++w) {
    const bool plans = record_.workflows[w].begun && !spec_[w].counted && !spec_[w].endless;
    if (plans) planned = std::max(planned, book_.planned_end(w));
  }
  for (plan::Loss& loss : record_.losses) {
    elapsed = std::max(elapsed, std::min(loss.to, lasted));
    loss.to = std::max(loss.from, std::min(loss.to, planned));
  }
  record_.elapsed = elapsed;
  if (record_.state == JobState::kRunning) book_.become(JobState::kCompleting, {}, out);
  book_.changed = true;
  out.push_back(job_effect::Conclude{});
}

JobState JobKernel::outcome() const {
  if (record_.state == JobState::kCancelling) return JobState::kCancelled;
  if (record_.stop && record_.stop->cause == JobStop::Cause::kTimeout) return JobState::kTimedOut;
  const auto& all = record_.workflows;
  const auto completed = [](const WorkflowRecord& one) { return one.state == WorkflowState::kCompleted; };
  if (std::all_of(all.begin(), all.end(), completed)) return JobState::kCompleted;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (spec_[w].is_test && completed(all[w])) return JobState::kPartial;
  }
  return JobState::kFailed;
}

}  // namespace bellwether::dispatch
