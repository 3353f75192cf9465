// The lives of assignments on a worker, and the ends that it decides by itself.

#include <algorithm>
#include <utility>

#include "core/base/probe.h"
#include "core/base/units.h"
#include "jobs/dispatch/worker_kernel.h"

namespace bellwether::dispatch {

using namespace kernel_effect;  // NOLINT(google-build-using-namespace): the words of this kernel

WorkerKernel::Assignment* WorkerKernel::find(const AssignmentKey& key) {
  const auto job = jobs_.find(key.job);
  if (job == jobs_.end()) return nullptr;
  const auto assignment = job->second.assignments.find(key.assignment);
  return assignment == job->second.assignments.end() ? nullptr : &assignment->second;
}

// --- events of processes ---------------------------------------------------------------------------------------------

void WorkerKernel::on(const kernel_event::Prepared& event, KernelEffects& out) {
  Assignment* const assignment = find(event.assignment);
  if (assignment == nullptr || assignment->gone || assignment->phase != AssignmentPhase::kPreparing) return;
  assignment->phase = AssignmentPhase::kReady;
  assignment->graceful_stop = std::max(event.graceful_stop, Duration::zero());
  assignment->begin_by = now_ + assignment->order.isolation_limit;
  assignment->ready = now_;
  renew(jobs_.at(event.assignment.job), event.assignment, *assignment, out);
  changed_ = true;
  for (const uint64_t ticket : std::exchange(assignment->waiting, {})) out.push_back(Answer{ticket, Noted{}});
}

void WorkerKernel::on(const kernel_event::NotPrepared& event, KernelEffects& out) {
  Assignment* const assignment = find(event.assignment);
  if (assignment == nullptr || assignment->gone || assignment->phase != AssignmentPhase::kPreparing) return;
  const bool ours = event.why.code == Errc::kExhausted || event.why.code == Errc::kNoSpace;
  drop(event.assignment, *assignment, ours ? Refusal::Kind::kBusy : Refusal::Kind::kBroken, event.why.message, out);
}

void WorkerKernel::on(const kernel_event::Measured& event, KernelEffects&) {
  Assignment* const assignment = find(event.assignment);
  if (assignment != nullptr) assignment->measured = std::max(assignment->measured, event.number);
}

void WorkerKernel::on(const kernel_event::Ended& event, KernelEffects& out) {
  Assignment* const assignment = find(event.assignment);
  if (assignment == nullptr || assignment->core_of_part.empty()) return;
  cores_.give_back(std::exchange(assignment->core_of_part, {}));
  assignment->bundle.reset();
  changed_ = true;
  if (!assignment->gone && assignment->phase == AssignmentPhase::kPreparing) {
    drop(event.assignment, *assignment, Refusal::Kind::kBroken, event.end.detail, out);
  }
  if (assignment->gone) {
    jobs_.at(event.assignment.job).assignments.erase(event.assignment.assignment);
    out.push_back(Forget{event.assignment});
    return;
  }
  assignment->phase = AssignmentPhase::kEnded;
  assignment->ended = now_;
  assignment->end = event.end;
  assignment->end.last_number = assignment->measured;
  const bool unsaid = event.end.outcome == AssignmentOutcome::kCrashed ||
                      event.end.outcome == AssignmentOutcome::kKilled || event.end.outcome == AssignmentOutcome::kLost;
  // Others run its parts, however it ended. It may have begun more than it reported.
  const bool moves =
      assignment->stopped_as != AssignmentOutcome::kStopped && assignment->stopped_as != AssignmentOutcome::kOvertime;
  if (assignment->killed && unsaid && moves) {
    const bool evicted = assignment->stopped_as == AssignmentOutcome::kEvicted;
    assignment->end.outcome = evicted ? AssignmentOutcome::kEvicted : AssignmentOutcome::kLost;
    assignment->end.detail = assignment->stop_why;
  } else if (assignment->killed && unsaid) {
    assignment->end.outcome = AssignmentOutcome::kKilled;
    assignment->end.detail =
        fmt::format("did not stop within {}: {}", format_duration(assignment->order.kill_grace), assignment->stop_why);
  } else if (assignment->stopping && event.end.outcome == AssignmentOutcome::kStopped) {
    assignment->end.outcome = assignment->stopped_as;
    assignment->end.detail = assignment->stop_why;
  } else if (assignment->overtime == Assignment::Overtime::kOver && event.end.outcome == AssignmentOutcome::kStopped) {
    assignment->end.outcome = AssignmentOutcome::kOvertime;  // it was paused
    assignment->end.detail = time_used(*assignment);
  }
  if (event.end.outcome == AssignmentOutcome::kIsolated) {  // its process was first to see that it has no permit
    const bool is_known = assignment->stopping && assignment->stopped_as == AssignmentOutcome::kIsolated;
    assignment->end.detail =
        is_known ? assignment->stop_why : why_isolated(jobs_.at(event.assignment.job), *assignment);
    if (!assignment->stopping) out.push_back(note_end(event.assignment, assignment->end.detail));
  }
  if (!assignment->has_begun) assignment->end.ran = Duration::zero();
  if (unsaid && assignment->has_begun) assignment->end.ran = std::max(now_ - assignment->origin, Duration::zero());
  out.push_back(TellEnd{event.assignment, assignment->end});
}

void WorkerKernel::stop(const AssignmentKey& key, Assignment& assignment, StopHow how, AssignmentOutcome as,
                        std::string why, KernelEffects& out) {
  if (assignment.phase != AssignmentPhase::kRunning || assignment.gone || assignment.killed) return;
  if (assignment.stopping && (assignment.how == StopHow::kAtOnce || how == StopHow::kGraceful)) return;
  if (!std::exchange(assignment.stopping, true)) {
    assignment.stopped_as = as;
    assignment.stop_why = std::move(why);
  }
  assignment.how = how;
  const Duration graceful = how == StopHow::kGraceful ? assignment.graceful_stop : Duration::zero();
  assignment.kill_at = now_ + graceful + assignment.order.kill_grace;
  out.push_back(Stop{key, how});
}

void WorkerKernel::drop(const AssignmentKey& key, Assignment& assignment, Refusal::Kind kind, const std::string& why,
                        KernelEffects& out) {
  Refusal refused;
  refused.kind = kind;
  refused.why = fmt::format("assignment {} of job '{}': {}", key.assignment.value(), key.job, why);
  assignment.gone = true;
  changed_ = true;
  for (const uint64_t ticket : std::exchange(assignment.waiting, {})) out.push_back(Answer{ticket, refused});
  auto& workflows = jobs_.at(key.job).workflows;
  const auto workflow = workflows.find(assignment.order.workflow);
  if (workflow != workflows.end() && workflow->second.highest.attempt == key.assignment.value()) {
    workflow->second.refused = std::move(refused);
  }
  if (!assignment.core_of_part.empty()) out.push_back(Kill{key});
}

// --- messages --------------------------------------------------------------------------------------------------------

void WorkerKernel::on(const kernel_event::OwnerAnswered& event, KernelEffects& out) {
  const auto job = jobs_.find(event.job);
  if (job == jobs_.end()) return;
  job->second.heard = now_;
  if (job->second.owner != event.from) follow(event.job, job->second, event.from, out);
}

void WorkerKernel::on(const kernel_event::OwnerNamed& event, KernelEffects& out) {
  const auto job = jobs_.find(event.job);
  if (job == jobs_.end()) return;
  if (event.owner.empty() && !event.from.empty() && event.from == job->second.owner) {
    return follow(event.job, job->second, {}, out);
  }
  if (event.owner.empty() || event.fence < job->second.fence) return;
  job->second.fence = event.fence;
  if (job->second.owner != event.owner) follow(event.job, job->second, event.owner, out);
}

void WorkerKernel::on(const kernel_event::ReportNoted& event, KernelEffects&) {
  for (auto& [id, job] : jobs_) {
    if (job.owner == event.from) job.heard = now_;
  }
}

void WorkerKernel::on(const kernel_event::Excess& event, KernelEffects& out) {
  Assignment* const assignment = find(event.assignment);
  if (assignment == nullptr || assignment->gone) return;
  out.push_back(Discard{event.assignment});
  stop(event.assignment, *assignment, StopHow::kAtOnce, AssignmentOutcome::kStopped, "its load was reassigned", out);
}

void WorkerKernel::on(const kernel_event::Delivered& event, KernelEffects&) {
  Assignment* const assignment = find(event.assignment);
  if (assignment != nullptr) assignment->delivered = assignment->phase == AssignmentPhase::kEnded;
}

void WorkerKernel::on(const kernel_event::Willing& event, KernelEffects&) {
  changed_ = changed_ || takes_work_ != event.takes_work;
  takes_work_ = event.takes_work;
  unwilling_why_ = event.why;
}

void WorkerKernel::on(const kernel_event::Drain&, KernelEffects&) {
  changed_ = changed_ || !draining_;
  draining_ = true;
}

void WorkerKernel::on(const kernel_event::Leave& event, KernelEffects& out) {
  on(kernel_event::Drain{}, out);
  leaves_at_ = leaves_at_ ? std::min(*leaves_at_, event.until) : event.until;
  changed_ = true;
  for (auto& [id, job] : jobs_) {
    for (auto& [number, assignment] : job.assignments) {
      if (assignment.gone || assignment.phase == AssignmentPhase::kEnded) continue;
      if (assignment.phase != AssignmentPhase::kRunning) {
        drop({id, number}, assignment, Refusal::Kind::kBusy, "its worker leaves", out);
      } else if (deadline_of(job, assignment) <= now_) {
        watch(job, {id, number}, assignment, out);
      }
    }
  }
}

// --- time ------------------------------------------------------------------------------------------------------------

void WorkerKernel::on(const kernel_event::Tick&, KernelEffects& out) {
  for (auto& [id, job] : jobs_) {
    for (auto& [number, assignment] : job.assignments) {
      if (deadline_of(job, assignment) <= now_) watch(job, {id, number}, assignment, out);
    }
    ask_witnesses(id, job, out);
  }
  if (sweep_at_ > now_) return;
  sweep();
  sweep_at_ = now_ + kSweepEvery;
}

// Each assignment has at most one next deadline.
Instant WorkerKernel::deadline_of(const Job& job, const Assignment& assignment) const {
  if (assignment.gone || assignment.phase == AssignmentPhase::kEnded) return Instant::never();
  if (assignment.phase != AssignmentPhase::kRunning) return assignment.begin_by;
  if (assignment.killed) return Instant::never();
  const Instant fenced = may_run(assignment) ? assignment.permit : Instant::never();
  if (assignment.stopping) return std::min(assignment.kill_at, fenced);
  return std::min(
      {fenced, isolated_at(job, assignment), next_of_time(assignment), ends_by(assignment), leaves_by(job)});
}

Instant WorkerKernel::isolated_at(const Job& job, const Assignment& assignment) {
  return std::max(job.heard, assignment.begun) + assignment.order.isolation_limit;
}

// By then its own iterations have ended, or its process does not obey.
Instant WorkerKernel::ends_by(const Assignment& assignment) const {
  if (assignment.until == 0) return Instant::never();
  const Duration at = Duration::seconds(static_cast<int64_t>(assignment.until - assignment.order.base_second));
  return assignment.origin + at + assignment.graceful_stop + assignment.order.kill_grace;
}

Instant WorkerKernel::leaves_by(const Job& job) const {
  return leaves_at_ ? std::min(*leaves_at_, job.heard + kMaxSilent) : Instant::never();
}

void WorkerKernel::watch(const Job& job, const AssignmentKey& key, Assignment& assignment, KernelEffects& out) {
  if (assignment.phase != AssignmentPhase::kRunning) {
    BW_PROBE("worker: an assignment that nobody begins is dropped");
    const bool ready = assignment.phase == AssignmentPhase::kReady;
    const std::string limit = format_duration(assignment.order.isolation_limit);
    drop(key, assignment, Refusal::Kind::kBusy,
         ready ? "its owner did not start it within " + limit : "it was not prepared within " + limit, out);
    return;
  }
  if (assignment.permit <= now_ && may_run(assignment)) {
    BW_PROBE("worker: an assignment without a permit is stopped");
    return isolate(job, key, assignment, out);
  }
  if (assignment.stopping) {
    assignment.killed = true;
    out.push_back(Kill{key});
    return;
  }
  if (ends_by(assignment) <= now_) {
    BW_PROBE("worker: an assignment that has handed over does not end");
    assignment.killed = true;
    assignment.stopped_as = AssignmentOutcome::kLost;
    assignment.stop_why = "it did not end, and other workers have continued it";
    out.push_back(Kill{key});
    return;
  }
  if (leaves_by(job) <= now_) {
    stop(key, assignment, StopHow::kAtOnce, AssignmentOutcome::kLeft, "its worker leaves", out);
    return;
  }
  if (next_of_time(assignment) <= now_) return watch_time(key, assignment, out);
  BW_PROBE("worker: an isolated assignment is stopped");
  isolate(job, key, assignment, out);
}

std::string WorkerKernel::why_isolated(const Job& job, const Assignment& assignment) const {
  const AssignmentOrder& order = assignment.order;
  if (assignment.go_by <= now_) return "it was not told in time that the assignment before it ends";
  if (now_ < isolated_at(job, assignment)) {
    return fmt::format("no permit: neither the owner of the job nor a majority of its witnesses answered for {}",
                       format_duration(order.permit));
  }
  return fmt::format("no owner of the job was heard for {}{}", format_duration(order.isolation_limit),
                     job.owner.empty() ? std::string() : fmt::format("; the last one was '{}'", job.owner));
}

Note WorkerKernel::note_end(const AssignmentKey& key, const std::string& why) {
  return {true, fmt::format("{} is stopped: {}", named(key.assignment, key.job), why)};
}

void WorkerKernel::isolate(const Job& job, const AssignmentKey& key, Assignment& assignment, KernelEffects& out) {
  const std::string why = why_isolated(job, assignment);
  stop(key, assignment, StopHow::kAtOnce, AssignmentOutcome::kIsolated, why, out);
  out.push_back(note_end(key, why));
}

void WorkerKernel::sweep() {
  std::erase_if(jobs_, [this](const auto& one) {
    return one.second.assignments.empty() && one.second.touched + config_.remember <= now_;
  });
}

Instant WorkerKernel::wake() const {
  Instant next = jobs_.empty() ? Instant::never() : sweep_at_;
  for (const auto& [id, job] : jobs_) {
    for (const auto& [number, assignment] : job.assignments) {
      next = std::min({next, deadline_of(job, assignment), ask_at(job, assignment)});
    }
  }
  return next;
}

// --- permits ---------------------------------------------------------------------------------------------------------

bool WorkerKernel::may_run(const Assignment& assignment) {
  const bool stops = assignment.killed || (assignment.stopping && assignment.how == StopHow::kAtOnce);
  return !assignment.gone && !stops && assignment.phase != AssignmentPhase::kEnded;
}

// All assignments of a job have the same witnesses, whatever their orders said.
void WorkerKernel::take_witnesses(Job& job, uint64_t since, const std::vector<Witness>& witnesses) {
  if (since < job.witnesses_since || witnesses.empty()) return;
  job.witnesses_since = since;
  job.witnesses = witnesses;
  for (auto& [number, assignment] : job.assignments) assignment.order.witnesses = witnesses;
}

// A permit that has ended is never renewed for an assignment that runs: its process stops by itself.
void WorkerKernel::renew(const Job& job, const AssignmentKey& key, Assignment& assignment, KernelEffects& out) {
  const bool known = assignment.phase == AssignmentPhase::kReady || assignment.phase == AssignmentPhase::kRunning;
  if (!known || !may_run(assignment) || (assignment.has_begun && assignment.permit <= now_)) return;
  const Instant until = std::min(job.permit.until(assignment.order, assignment.ready), assignment.go_by);
  if (until == Instant::never() || (assignment.permit != Instant::never() && until <= assignment.permit)) return;
  assignment.permit = until;
  out.push_back(Permit{key, until});
}

void WorkerKernel::renew_all(const std::string& id, Job& job, KernelEffects& out) {
  for (auto& [number, assignment] : job.assignments) renew(job, {id, number}, assignment, out);
}

void WorkerKernel::on(const kernel_event::PermitGiven& event, KernelEffects& out) {
  Refusal stale;
  Job* const job = jobs_.contains(event.job) ? listen(event.job, event.fence, event.from, stale, out) : nullptr;
  if (job == nullptr) return;
  for (const AssignmentId number : event.denied) {
    const auto found = job->assignments.find(number);
    if (found == job->assignments.end() || found->second.gone) continue;
    const AssignmentKey key{event.job, number};
    if (found->second.phase == AssignmentPhase::kPreparing || found->second.phase == AssignmentPhase::kReady) {
      drop(key, found->second, Refusal::Kind::kStale, "its load was reassigned", out);
    } else if (found->second.phase == AssignmentPhase::kRunning) {
      // Its seconds stay until the owner says that they are excess: a quorum may not know yet that its load moves, and
      // then the next owner waits for them.
      stop(key, found->second, StopHow::kAtOnce, AssignmentOutcome::kIsolated,
           "its owner denied its permit, because its load goes to other workers", out);
    }
  }
  take_witnesses(*job, event.witnesses_since, event.witnesses);
  job->permit.owner_gave(event.asked);
  renew_all(event.job, *job, out);
}

void WorkerKernel::on(const kernel_event::WitnessAnswered& event, KernelEffects& out) {
  const auto job = jobs_.find(event.job);
  if (job == jobs_.end()) return;
  job->second.permit.witness_gave(event.witness, event.until);
  renew_all(event.job, job->second, out);
}

Instant WorkerKernel::ask_at(const Job& job, const Assignment& assignment) {
  const bool wants = may_run(assignment) && assignment.phase != AssignmentPhase::kPreparing;
  return wants ? job.permit.ask_at(assignment.order, assignment.ready) : Instant::never();
}

// If it is time to.
void WorkerKernel::ask_witnesses(const std::string& id, Job& job, KernelEffects& out) {
  AskWitnesses asking{id, {}, {}, {}};
  const AssignmentOrder* due = nullptr;
  for (const auto& [number, assignment] : job.assignments) {
    if (!may_run(assignment)) continue;
    if (asking.first == AssignmentId()) asking.first = number;
    if (due == nullptr && ask_at(job, assignment) <= now_) due = &assignment.order;
  }
  if (due == nullptr) return;
  asking.permit = due->permit / 2;
  bool asks_itself = false;
  for (const Witness& witness : due->witnesses) {
    if (witness.life == config_.life) {
      asks_itself = true;
    } else {
      asking.witnesses.push_back(witness);
    }
  }
  job.permit.asks_witnesses(now_);
  if (!asking.witnesses.empty()) out.push_back(asking);
  if (!asks_itself) return;
  const RenewMessage renewal{id, config_.life, config_.life, asking.first, asking.permit};
  if (!std::holds_alternative<Noted>(witness_.renew(now_, renewal))) return;
  on(kernel_event::WitnessAnswered{id, config_.life, now_ + asking.permit}, out);
}

// --- the report ------------------------------------------------------------------------------------------------------

WorkerReport WorkerKernel::report() const {
  WorkerReport made;
  made.cores = cores_.count();
  made.free = cores_.free();
  made.takes_work = takes_work_ && !draining_;
  made.leaves = leaves_at_.has_value();
  made.permits = true;
  for (const auto& [id, job] : jobs_) {
    for (const auto& [number, assignment] : job.assignments) {
      if (!assignment.gone) made.held.push_back({id, job.fence, number, assignment.phase});
    }
  }
  return made;
}

std::string WorkerKernel::owner_of(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? std::string() : found->second.owner;
}

std::size_t WorkerKernel::unfinished() const {
  std::size_t count = 0;
  for (const auto& [id, job] : jobs_) {
    for (const auto& [number, assignment] : job.assignments) count += assignment.core_of_part.empty() ? 0 : 1;
  }
  return count;
}

// Assignments that exceed their time. The worker asks the owner for more before the time ends. If the owner gives no
// more, the process has some seconds to report all that it has measured; then the scenario decides.

void WorkerKernel::set_time(Assignment& assignment, Instant ends, Duration ask_before) {
  assignment.time_ends = ends;
  assignment.ask_at = ends - std::min(ask_before, assignment.order.execution_limit / 2);
}

Instant WorkerKernel::next_of_time(const Assignment& assignment) {
  switch (assignment.overtime) {
    case Assignment::Overtime::kNone: return std::min(assignment.ask_at, assignment.time_ends);
    case Assignment::Overtime::kGrace: return assignment.time_ends + kGrace;
    case Assignment::Overtime::kOver: break;
  }
  return Instant::never();
}

std::string WorkerKernel::time_used(const Assignment& assignment) {
  return fmt::format("it ran for {}, its time limit", format_duration(assignment.time_ends - assignment.begun));
}

void WorkerKernel::watch_time(const AssignmentKey& key, Assignment& assignment, KernelEffects& out) {
  if (assignment.overtime == Assignment::Overtime::kNone && now_ < assignment.time_ends) {
    out.push_back(AskForTime{key, assignment.time_ends - now_});
    assignment.ask_at = now_ + kAskAgain;
    return;
  }
  const std::string whose = fmt::format("assignment {} of job '{}'", key.assignment.value(), key.job);
  if (assignment.overtime == Assignment::Overtime::kNone) {
    assignment.overtime = Assignment::Overtime::kGrace;
    out.push_back(Warn{key});
    out.push_back(
        Note{true, fmt::format("{} has {} to end: {}", whose, format_duration(kGrace), time_used(assignment))});
    return;
  }
  assignment.overtime = Assignment::Overtime::kOver;
  switch (assignment.order.on_overtime) {
    case plan::OnOvertime::kKill:
      stop(key, assignment, StopHow::kAtOnce, AssignmentOutcome::kOvertime, time_used(assignment), out);
      break;
    case plan::OnOvertime::kPause:
      BW_PROBE("worker: an assignment is paused");
      out.push_back(Stop{key, StopHow::kGraceful});
      out.push_back(Note{true, fmt::format("{} starts no new iterations: {}", whose, time_used(assignment))});
      break;
    case plan::OnOvertime::kNotify: break;
  }
}

void WorkerKernel::on(const kernel_event::TimeGiven& event, KernelEffects& out) {
  Assignment* const assignment = find(event.assignment);
  if (assignment == nullptr || assignment->gone || assignment->phase != AssignmentPhase::kRunning) return;
  if (assignment->stopping || assignment->killed) return;
  if (assignment->overtime != Assignment::Overtime::kNone) return;  // it came too late
  const MoreTime& answer = event.answer;
  if (answer.granted > Duration::zero()) {
    // It asks for more at the latest when half of the grant is left.
    set_time(*assignment, assignment->time_ends + answer.granted, std::min(kAskBefore, answer.granted / 2));
    if (answer.warning) out.push_back(Warn{event.assignment});
  } else if (answer.over) {
    assignment->time_ends = std::min(assignment->time_ends, now_);
  }
}

}  // namespace bellwether::dispatch
