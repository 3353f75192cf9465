#include "jobs/dispatch/worker_kernel.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/base/units.h"

namespace bellwether::dispatch {

using namespace kernel_effect;  // NOLINT(google-build-using-namespace): the words of this kernel

namespace {

bool makes_sense(const AssignmentOrder& order) {
  return is_good(order.parts) && order.cores > 0 && order.workflow < kMaxWorkflows && order.assignment.value() > 0 &&
         order.isolation_limit > Duration::zero() && order.execution_limit > Duration::zero() &&
         order.kill_grace >= Duration::zero() && order.permit >= Duration::zero() && order.permit <= kLongestPermit;
}

// The other fields may differ when an owner repeats an offer.
bool is_same_work(const AssignmentOrder& a, const AssignmentOrder& b) {
  return a.workflow == b.workflow && a.parts == b.parts && a.bundle == b.bundle && a.seed == b.seed;
}

}  // namespace

WorkerKernel::WorkerKernel(WorkerKernelConfig config)
    : config_(config),
      cores_(config.cores),
      store_(config.bundle_bytes_most),
      witness_(config.life, config.askers_most, config.remember) {
  check(config.cores > 0 && config.jobs_most > config.assignments_most, "a worker can remember more jobs than it runs");
}

std::string WorkerKernel::named(AssignmentId assignment, const std::string& job) {
  return fmt::format("assignment {} of job '{}'", assignment.value(), job);
}

void WorkerKernel::step(Instant now, const KernelEvent& event, KernelEffects& out) {
  now_ = now;
  std::visit([&](const auto& one) { on(one, out); }, event);
  if (std::exchange(changed_, false)) out.push_back(kernel_effect::Report{});
  if (draining_ && !told_idle_ && unfinished() == 0) {
    told_idle_ = true;
    out.push_back(Idle{});
  }
}

void WorkerKernel::on(const kernel_event::Asked& event, KernelEffects& out) {
  Answered answer = std::visit([&](const auto& message) { return hear(message, event, out); }, event.message);
  if (answer) out.push_back(Answer{event.ticket, std::move(*answer)});
}

template <class Message>
WorkerKernel::Answered WorkerKernel::hear(const Message& message, const kernel_event::Asked& asked,
                                          KernelEffects& out) {
  constexpr bool kToJob = requires(Job& job) { ask(job, message, out); };
  constexpr bool kToAssignment = requires(Assignment& assignment) { ask(assignment, message, out); };
  if constexpr (kToJob || kToAssignment) {
    Refusal stale;
    Job* const job = listen(message.job, message.fence, asked.from, stale, out);
    if (job == nullptr) return stale;
    if constexpr (kToJob) {
      return ask(*job, message, out);
    } else {
      Response unknown;
      Assignment* const assignment = assignment_of(*job, message.job, message.assignment, unknown);
      if (assignment == nullptr) return unknown;
      return ask(*assignment, message, out);
    }
  } else if constexpr (requires { ask(message, asked, out); }) {
    return ask(message, asked, out);
  } else {
    return refusal(Refusal::Kind::kInvalid, "a worker does not handle this message");
  }
}

// --- senders ---------------------------------------------------------------------------------------------------------

WorkerKernel::Job* WorkerKernel::listen(const std::string& id, JobFence fence, const std::string& from, Refusal& stale,
                                        KernelEffects& out) {
  const auto found = jobs_.find(id);
  if (found != jobs_.end() && !election::in_order(fence, found->second.fence)) {
    BW_PROBE("worker: an owner that is none any more is refused");
    stale = refusal(Refusal::Kind::kStale, fmt::format("job '{}' has a newer owner, '{}'", id, found->second.owner));
    stale.owner = found->second.owner;
    stale.fence = found->second.fence;
    return nullptr;
  }
  Job& job = job_at(id);
  job.heard = now_;
  const bool later = fence > job.fence;
  job.fence = fence;
  if (later || job.owner != from) follow(id, job, from, out);
  return &job;
}

WorkerKernel::Job& WorkerKernel::job_at(const std::string& id) {
  if (!jobs_.contains(id) && jobs_.size() >= config_.jobs_most) {
    BW_PROBE("worker: the oldest job is forgotten to remember another one");
    auto oldest = jobs_.end();
    for (auto at = jobs_.begin(); at != jobs_.end(); ++at) {
      if (!at->second.assignments.empty()) continue;
      if (oldest == jobs_.end() || at->second.touched < oldest->second.touched) oldest = at;
    }
    check(oldest != jobs_.end(), "there are more jobs than assignments");
    jobs_.erase(oldest);
  }
  if (jobs_.empty()) sweep_at_ = now_ + kSweepEvery;
  Job& job = jobs_[id];
  job.touched = now_;
  return job;
}

WorkerKernel::Assignment* WorkerKernel::assignment_of(Job& job, const std::string& id, AssignmentId assignment,
                                                      Response& answer) {
  const auto found = job.assignments.find(assignment);
  if (found != job.assignments.end() && !found->second.gone) return &found->second;
  answer = refusal(Refusal::Kind::kUnknown, named(assignment, id) + " is unknown to this worker");
  return nullptr;
}

void WorkerKernel::follow(const std::string& id, Job& job, const std::string& owner, KernelEffects& out) {
  job.owner = owner;
  if (!job.assignments.empty()) out.push_back(Follow{id});
}

// --- offers ----------------------------------------------------------------------------------------------------------

WorkerKernel::Answered WorkerKernel::ask(const Offer& message, const kernel_event::Asked& asked, KernelEffects& out) {
  const AssignmentOrder& order = message.order;
  if (!makes_sense(order)) {
    return refusal(Refusal::Kind::kInvalid,
                   fmt::format("the offer of {} is invalid", named(order.assignment, order.job)));
  }
  Refusal stale;
  Job* const job = listen(order.job, order.fence, asked.from, stale, out);
  if (job == nullptr) return stale;
  // The owner counts the assignments of a former life as gone as soon as it knows of this one.
  if (order.life != 0 && order.life != config_.life) {
    BW_PROBE("worker: an offer for another life is refused");
    return refusal(Refusal::Kind::kStale,
                   named(order.assignment, order.job) + " was offered to this worker before it was restarted");
  }
  const auto here = job->assignments.find(order.assignment);
  if (here != job->assignments.end() && !here->second.gone) return known(*job, here->second, order, asked.ticket);
  if (job->retired && order.fence <= job->retired_by) {
    return refusal(Refusal::Kind::kStale, fmt::format("job '{}' has ended", order.job));
  }
  const DispatchAttempt attempt = attempt_of(order.fence, order.assignment);
  const auto workflow = job->workflows.find(order.workflow);
  // A later owner may repeat the offer of an assignment that never began. One that began has a stream with its number.
  const bool in_order = workflow == job->workflows.end() || (election::in_order(attempt, workflow->second.highest) &&
                                                             order.assignment > workflow->second.begun);
  if (!in_order) {
    BW_PROBE("worker: an attempt that is not in order is refused");
    if (attempt == workflow->second.highest && workflow->second.refused) return *workflow->second.refused;
    return refusal(Refusal::Kind::kStale,
                   fmt::format("this worker has accepted a later assignment of that workflow than {}: {}",
                               named(order.assignment, order.job), workflow->second.highest.attempt));
  }
  if (here != job->assignments.end()) {
    return refusal(Refusal::Kind::kBusy, named(order.assignment, order.job) + " is being ended on this worker");
  }
  return admit(*job, order, asked.ticket, out);
}

// The same offer again, perhaps under a later fence, from a new owner.
WorkerKernel::Answered WorkerKernel::known(Job& job, Assignment& assignment, const AssignmentOrder& order,
                                           uint64_t ticket) {
  if (!is_same_work(assignment.order, order)) {
    return refusal(Refusal::Kind::kInvalid,
                   named(order.assignment, order.job) + " was offered with other contents before");
  }
  Workflow& workflow = job.workflows[order.workflow];
  workflow.highest = std::max(workflow.highest, attempt_of(order.fence, order.assignment));
  if (!assignment.has_begun) {
    assignment.order.base_second = order.base_second;
    assignment.begin_by = now_ + assignment.order.isolation_limit + reading_time(order.files);
  }
  if (assignment.phase == AssignmentPhase::kPreparing) {
    if (assignment.waiting.size() >= kMaxWaiting) {
      return refusal(Refusal::Kind::kBusy,
                     fmt::format("too many requests for {} are waiting", named(order.assignment, order.job)));
    }
    assignment.waiting.push_back(ticket);
    return std::nullopt;
  }
  if (assignment.phase == AssignmentPhase::kEnded && !assignment.has_begun) {
    return refusal(Refusal::Kind::kBroken, fmt::format("{} ended before it started: {}",
                                                       named(order.assignment, order.job), assignment.end.detail));
  }
  return Noted{};
}

WorkerKernel::Answered WorkerKernel::admit(Job& job, const AssignmentOrder& order, uint64_t ticket,
                                           KernelEffects& out) {
  if (order.context_version < job.context_version) {
    return refusal(Refusal::Kind::kStale, named(order.assignment, order.job) + " belongs to a layer that has ended");
  }
  if (draining_) return refusal(Refusal::Kind::kBusy, "this worker is draining and accepts no new work");
  if (!takes_work_) return refusal(Refusal::Kind::kBusy, "this worker accepts no work: " + unwilling_why_);
  if (!make_room(out)) {
    return refusal(Refusal::Kind::kBusy,
                   fmt::format("this worker holds {} assignments, its limit, until their jobs are retired",
                               config_.assignments_most));
  }
  auto cores = cores_.take(order.cores, order.parts.count, order.squeeze);
  if (!cores) {
    return refusal(Refusal::Kind::kBusy,
                   order.squeeze ? fmt::format("the {} in use leave no room for {} more; each takes at most {}",
                                               format_count(cores_.count(), "core"),
                                               format_count(order.parts.count, "part"), WorkerCores::kMaxSqueezed)
                                 : fmt::format("{} of {} cores are free; the assignment needs {}", cores_.free(),
                                               cores_.count(), order.cores));
  }
  BundleStore::Bytes bundle = store_.find(order.bundle);
  if (bundle == nullptr) {
    cores_.give_back(*cores);
    return refusal(Refusal::Kind::kUnknown, fmt::format("this worker does not have bundle {}", order.bundle));
  }
  job.retired = false;
  job.context_version = order.context_version;
  Workflow& workflow = job.workflows[order.workflow];
  workflow.highest = attempt_of(order.fence, order.assignment);
  workflow.refused.reset();
  Assignment& assignment = job.assignments[order.assignment];
  assignment.order = order;
  take_witnesses(job, order.witnesses_since, order.witnesses);
  assignment.order.witnesses = job.witnesses;
  assignment.waiting.push_back(ticket);
  assignment.core_of_part = std::move(*cores);
  assignment.bundle = bundle;
  assignment.begin_by = now_ + order.isolation_limit + reading_time(order.files);
  changed_ = true;
  out.push_back(Start{{order.job, order.assignment}, order, assignment.core_of_part, std::move(bundle)});
  return std::nullopt;
}

// An ended assignment makes room if its data is durable or no owner has asked for long.
bool WorkerKernel::make_room(KernelEffects& out) {
  std::size_t assignments = 0;
  Job* job_of = nullptr;
  AssignmentKey oldest;
  const Assignment* found = nullptr;
  for (auto& [id, job] : jobs_) {
    assignments += job.assignments.size();
    for (const auto& [number, assignment] : job.assignments) {
      const bool ended = assignment.phase == AssignmentPhase::kEnded && !assignment.gone;
      if (!ended || (!assignment.delivered && now_ - assignment.ended < config_.remember)) continue;
      const bool better = found == nullptr || assignment.delivered > found->delivered ||
                          (assignment.delivered == found->delivered && assignment.ended < found->ended);
      if (!better) continue;
      job_of = &job;
      oldest = {id, number};
      found = &assignment;
    }
  }
  if (assignments < config_.assignments_most) return true;
  if (found == nullptr) return false;
  BW_PROBE("worker: an assignment that has ended makes room");
  if (!found->delivered) {
    out.push_back(Note{true, fmt::format("the results of {} are deleted: no manager fetched them for a long time",
                                         named(oldest.assignment, oldest.job))});
  }
  job_of->assignments.erase(oldest.assignment);
  out.push_back(Forget{oldest});
  return true;
}

// --- other messages --------------------------------------------------------------------------------------------------

WorkerKernel::Answered WorkerKernel::ask(const BundleMessage& message, const kernel_event::Asked& asked,
                                         KernelEffects&) {
  const auto job = jobs_.find(message.job);
  if (job != jobs_.end() && job->second.owner == asked.from) job->second.heard = now_;
  const Status kept = store_.put(message.hash, message.bytes);
  if (kept) return Noted{};
  const bool for_now = kept.error().code == Errc::kExhausted;
  return refusal(for_now ? Refusal::Kind::kBusy : Refusal::Kind::kInvalid, kept.error().message);
}

WorkerKernel::Answered WorkerKernel::ask(Assignment& assignment, const ScaleMessage& message, KernelEffects& out) {
  if (assignment.phase != AssignmentPhase::kEnded)
    out.push_back(kernel_effect::Scale{{message.job, message.assignment}, message.vus});
  return Noted{};
}

WorkerKernel::Answered WorkerKernel::ask(Assignment& assignment, const StopMessage& message, KernelEffects& out) {
  const AssignmentKey key{message.job, message.assignment};
  if (assignment.phase == AssignmentPhase::kPreparing || assignment.phase == AssignmentPhase::kReady) {
    drop(key, assignment, Refusal::Kind::kStale, "was stopped: " + message.why, out);
  } else if (message.evict && assignment.phase == AssignmentPhase::kRunning && !assignment.killed) {
    assignment.killed = true;
    assignment.stopped_as = AssignmentOutcome::kEvicted;
    assignment.stop_why = message.why;
    out.push_back(Kill{key});
  } else {
    stop(key, assignment, message.how, AssignmentOutcome::kStopped, message.why, out);
  }
  return Noted{};
}

WorkerKernel::Answered WorkerKernel::ask(Job& job, const AdoptMessage& message, KernelEffects& out) {
  Adopted adopted;
  for (auto& [number, assignment] : job.assignments) {
    if (assignment.gone) continue;
    AssignmentSight& sight = adopted.assignments.emplace_back();
    sight.assignment = number;
    sight.phase = assignment.phase;
    sight.measured = assignment.measured;
    sight.until = assignment.until;
    sight.end = assignment.end;
    if (assignment.has_begun) {
      sight.from = assignment.from;
      sight.clock = now_ - assignment.origin;
    }
    const auto stream = std::find_if(message.streams.begin(), message.streams.end(),
                                     [id = number](const AdoptMessage::Stream& one) { return one.assignment == id; });
    if (assignment.has_begun) {
      out.push_back(Resume{{message.job, number}, stream == message.streams.end() ? 0 : stream->applied});
    }
    if (assignment.phase != AssignmentPhase::kEnded) continue;
    assignment.delivered = false;
    out.push_back(TellEnd{{message.job, number}, assignment.end});
  }
  return adopted;
}

WorkerKernel::Answered WorkerKernel::ask(Job& job, const RetireMessage& message, KernelEffects& out) {
  job.retired = true;
  job.retired_by = message.fence;
  for (auto at = job.assignments.begin(); at != job.assignments.end();) {
    Assignment& assignment = at->second;
    const AssignmentKey key{message.job, at->first};
    if (assignment.phase == AssignmentPhase::kEnded && !assignment.gone) {
      out.push_back(Forget{key});
      at = job.assignments.erase(at);
      changed_ = true;
      continue;
    }
    if (!assignment.gone) drop(key, assignment, Refusal::Kind::kStale, "belongs to a job that has ended", out);
    ++at;
  }
  return Noted{};
}

WorkerKernel::Answered WorkerKernel::ask(Job&, const DenyMessage& message, KernelEffects&) {
  return witness_.deny(now_, message);
}

WorkerKernel::Answered WorkerKernel::ask(const RenewMessage& message, const kernel_event::Asked&, KernelEffects&) {
  return witness_.renew(now_, message);
}

// How prepared assignments begin, and how a running one gives its parts to others.

namespace {

constexpr Duration kLongestClock = Duration::hours(24 * 365);

}  // namespace

WorkerKernel::Assignment* WorkerKernel::to_begin(Job& job, const AssignmentKey& key, Response& answer,
                                                 KernelEffects& out) {
  const auto& [id, number] = key;
  Assignment* const assignment = assignment_of(job, id, number, answer);
  if (assignment == nullptr) return nullptr;
  answer = Noted{};
  if (assignment->has_begun) return nullptr;
  if (assignment->phase == AssignmentPhase::kPreparing) {
    answer = refusal(Refusal::Kind::kBusy, named(number, id) + " is still being prepared");
    return nullptr;
  }
  if (assignment->phase == AssignmentPhase::kEnded) {
    answer = refusal(Refusal::Kind::kUnknown,
                     fmt::format("{} ended before it started: {}", named(number, id), assignment->end.detail));
    return nullptr;
  }
  if (assignment->permit <= now_) {
    BW_PROBE("worker: an assignment without a permit does not begin");
    const std::string why = "has no permit any more: it was told too late";
    answer = refusal(Refusal::Kind::kUnavailable, named(number, id) + " " + why);
    drop(key, *assignment, Refusal::Kind::kUnavailable, why, out);
    return nullptr;
  }
  return assignment;
}

void WorkerKernel::begin(Job& job, const kernel_effect::Begin& begin, Assignment& assignment, KernelEffects& out) {
  assignment.phase = AssignmentPhase::kRunning;
  assignment.has_begun = true;
  assignment.order.base_second = begin.base;  // the order may be older than this number
  assignment.origin = begin.origin;
  assignment.begun = std::max(now_, begin.origin + begin.at.value_or(Duration::zero()));
  set_time(assignment, assignment.begun + assignment.order.execution_limit, kAskBefore);
  assignment.from = begin.from;
  Workflow& workflow = job.workflows[assignment.order.workflow];
  workflow.begun = std::max(workflow.begun, begin.assignment.assignment);
  changed_ = true;
  out.push_back(begin);
}

WorkerKernel::Answered WorkerKernel::ask(Job& job, const BeginMessage& message, KernelEffects& out) {
  Response answer;
  Assignment* const assignment = to_begin(job, {message.job, message.assignment}, answer, out);
  if (assignment == nullptr) return answer;
  const bool before = message.resumes && message.from < assignment->order.base_second;
  if (before || message.from >= kMaxSeconds || message.clock > kLongestClock || message.clock < -kLongestClock) {
    return refusal(Refusal::Kind::kInvalid, fmt::format("{} cannot start at second {} of the run",
                                                        named(message.assignment, message.job), message.from));
  }
  const uint64_t base = message.resumes ? assignment->order.base_second : message.from;
  begin(
      job,
      {{message.job, message.assignment}, now_ - message.clock, message.resumes, base, message.from, {}, message.rows},
      *assignment, out);
  return Noted{};
}

WorkerKernel::Answered WorkerKernel::ask(Job& job, const TakeOverMessage& message, KernelEffects& out) {
  Response answer;
  const AssignmentKey key{message.job, message.assignment};
  Assignment* const assignment = to_begin(job, key, answer, out);
  if (assignment == nullptr) {
    Assignment* const told = !message.waits ? find(key) : nullptr;
    if (told == nullptr) return answer;
    told->go_by = Instant::never();
    renew(job, key, *told, out);
    return answer;
  }
  const uint64_t base = assignment->order.base_second;
  if (message.from <= base || message.from >= kMaxSeconds || message.clock > kLongestClock ||
      message.clock < Duration::zero()) {
    return refusal(Refusal::Kind::kInvalid, fmt::format("{} cannot take over at second {} of the run",
                                                        named(message.assignment, message.job), message.from));
  }
  const Duration at = Duration::seconds(static_cast<int64_t>(message.from - base));
  if (message.clock >= at) {
    BW_PROBE("worker: an assignment is told too late to take over");
    return refusal(Refusal::Kind::kStale, named(message.assignment, message.job) + " was told too late to take over");
  }
  const Instant origin = now_ - message.clock;
  if (message.waits && assignment->order.permit != Duration::zero()) {
    assignment->go_by = origin + at;
    if (assignment->permit > assignment->go_by) {
      assignment->permit = assignment->go_by;
      out.push_back(Permit{key, assignment->permit});
    }
  }
  begin(job, {key, origin, true, base, message.from, at, message.rows}, *assignment, out);
  return Noted{};
}

WorkerKernel::Answered WorkerKernel::ask(Assignment& assignment, const HandOverMessage& message, KernelEffects& out) {
  if (assignment.until != 0 && assignment.until == message.until) return Noted{};
  const uint64_t base = assignment.order.base_second;
  if (assignment.until != 0 || assignment.phase != AssignmentPhase::kRunning || assignment.stopping ||
      assignment.killed || message.until <= base || message.until >= kMaxSeconds) {
    return refusal(Refusal::Kind::kInvalid, fmt::format("{} cannot hand over at second {} of the run",
                                                        named(message.assignment, message.job), message.until));
  }
  const Duration at = Duration::seconds(static_cast<int64_t>(message.until - base));
  if (assignment.origin + at < now_ + kMinHandOver) {
    BW_PROBE("worker: an assignment is told too late to hand over");
    return refusal(Refusal::Kind::kStale, named(message.assignment, message.job) + " was told too late to hand over");
  }
  assignment.until = message.until;
  changed_ = true;
  out.push_back(HandOver{{message.job, message.assignment}, at, message.until});
  return Noted{};
}

}  // namespace bellwether::dispatch
