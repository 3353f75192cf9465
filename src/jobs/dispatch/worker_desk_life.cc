// The lives of assignments on a worker, and the ends that it decides by itself.

#include <algorithm>
#include <utility>

#include "core/base/probe.h"
#include "jobs/dispatch/worker_desk.h"

namespace bellwether::dispatch {

using namespace desk_effect;  // NOLINT(google-build-using-namespace): the words of this kernel

WorkerDesk::Share* WorkerDesk::find(const ShareKey& key) {
  const auto job = jobs_.find(key.job);
  if (job == jobs_.end()) return nullptr;
  const auto share = job->second.shares.find(key.share);
  return share == job->second.shares.end() ? nullptr : &share->second;
}

// --- events of processes ---------------------------------------------------------------------------------------------

void WorkerDesk::on(const desk_event::Prepared& event, DeskEffects& out) {
  Share* const share = find(event.share);
  if (share == nullptr || share->gone || share->phase != SharePhase::kPreparing) return;
  share->phase = SharePhase::kReady;
  share->graceful_stop = std::max(event.graceful_stop, Duration::zero());
  share->begin_by = now_ + share->order.isolation_limit;
  changed_ = true;
  for (const uint64_t ticket : std::exchange(share->waiting, {})) out.push_back(Answer{ticket, Noted{}});
}

void WorkerDesk::on(const desk_event::NotPrepared& event, DeskEffects& out) {
  Share* const share = find(event.share);
  if (share == nullptr || share->gone || share->phase != SharePhase::kPreparing) return;
  const bool ours = event.why.code == Errc::kExhausted || event.why.code == Errc::kNoSpace;
  drop(event.share, *share, ours ? Refusal::Kind::kBusy : Refusal::Kind::kBroken, event.why.message, out);
}

void WorkerDesk::on(const desk_event::Measured& event, DeskEffects&) {
  Share* const share = find(event.share);
  if (share != nullptr) share->measured = std::max(share->measured, event.number);
}

void WorkerDesk::on(const desk_event::Ended& event, DeskEffects& out) {
  Share* const share = find(event.share);
  if (share == nullptr || share->core_of_part.empty()) return;
  cores_.give_back(std::exchange(share->core_of_part, {}));
  share->bundle.reset();
  changed_ = true;
  if (!share->gone && share->phase == SharePhase::kPreparing) {
    drop(event.share, *share, Refusal::Kind::kBroken, event.end.detail, out);
  }
  if (share->gone) {
    jobs_.at(event.share.job).shares.erase(event.share.share);
    out.push_back(Forget{event.share});
    return;
  }
  share->phase = SharePhase::kEnded;
  share->ended = now_;
  share->end = event.end;
  share->end.last_number = share->measured;
  const bool unsaid = event.end.outcome == ShareOutcome::kCrashed || event.end.outcome == ShareOutcome::kKilled;
  if (share->killed && unsaid) {
    share->end.outcome = ShareOutcome::kKilled;
    share->end.detail =
        fmt::format("did not stop within {}: {}", seconds_text(share->order.kill_grace), share->stop_why);
  } else if (share->stopping && event.end.outcome == ShareOutcome::kStopped) {
    share->end.outcome = share->stopped_as;
    share->end.detail = share->stop_why;
  } else if (share->overtime == Share::Overtime::kOver && event.end.outcome == ShareOutcome::kStopped) {
    share->end.outcome = ShareOutcome::kOvertime;  // it was paused
    share->end.detail = time_used(*share);
  }
  if (!share->has_begun) share->end.ran = Duration::zero();
  if (unsaid && share->has_begun) share->end.ran = std::max(now_ - share->origin, Duration::zero());
  out.push_back(TellEnd{event.share, share->end});
}

void WorkerDesk::stop(const ShareKey& key, Share& share, StopHow how, ShareOutcome as, std::string why,
                      DeskEffects& out) {
  if (share.phase != SharePhase::kRunning || share.gone || share.killed) return;
  if (share.stopping && (share.how == StopHow::kAtOnce || how == StopHow::kGraceful)) return;
  if (!std::exchange(share.stopping, true)) {
    share.stopped_as = as;
    share.stop_why = std::move(why);
  }
  share.how = how;
  const Duration graceful = how == StopHow::kGraceful ? share.graceful_stop : Duration::zero();
  share.kill_at = now_ + graceful + share.order.kill_grace;
  out.push_back(Stop{key, how});
}

void WorkerDesk::drop(const ShareKey& key, Share& share, Refusal::Kind kind, const std::string& why, DeskEffects& out) {
  Refusal refused;
  refused.kind = kind;
  refused.why = fmt::format("share {} of job '{}': {}", key.share.value(), key.job, why);
  share.gone = true;
  changed_ = true;
  for (const uint64_t ticket : std::exchange(share.waiting, {})) out.push_back(Answer{ticket, refused});
  auto& workflows = jobs_.at(key.job).workflows;
  const auto workflow = workflows.find(share.order.workflow);
  if (workflow != workflows.end() && workflow->second.highest.attempt == key.share.value()) {
    workflow->second.refused = std::move(refused);
  }
  if (!share.core_of_part.empty()) out.push_back(Kill{key});
}

// --- messages --------------------------------------------------------------------------------------------------------

void WorkerDesk::on(const desk_event::OwnerAnswered& event, DeskEffects& out) {
  const auto job = jobs_.find(event.job);
  if (job == jobs_.end()) return;
  job->second.heard = now_;
  if (job->second.owner != event.from) follow(event.job, job->second, event.from, out);
}

void WorkerDesk::on(const desk_event::OwnerNamed& event, DeskEffects& out) {
  const auto job = jobs_.find(event.job);
  if (job == jobs_.end()) return;
  if (event.owner.empty() && !event.from.empty() && event.from == job->second.owner) {
    return follow(event.job, job->second, {}, out);
  }
  if (event.owner.empty() || event.fence < job->second.fence) return;
  job->second.fence = event.fence;
  if (job->second.owner != event.owner) follow(event.job, job->second, event.owner, out);
}

void WorkerDesk::on(const desk_event::ReportNoted& event, DeskEffects&) {
  for (auto& [id, job] : jobs_) {
    if (job.owner == event.from) job.heard = now_;
  }
}

void WorkerDesk::on(const desk_event::Excess& event, DeskEffects& out) {
  Share* const share = find(event.share);
  if (share == nullptr || share->gone) return;
  out.push_back(Discard{event.share});
  stop(event.share, *share, StopHow::kAtOnce, ShareOutcome::kStopped, "its load was given to somebody else", out);
}

void WorkerDesk::on(const desk_event::Delivered& event, DeskEffects&) {
  Share* const share = find(event.share);
  if (share != nullptr) share->delivered = share->phase == SharePhase::kEnded;
}

void WorkerDesk::on(const desk_event::Willing& event, DeskEffects&) {
  changed_ = changed_ || takes_work_ != event.takes_work;
  takes_work_ = event.takes_work;
  unwilling_why_ = event.why;
}

void WorkerDesk::on(const desk_event::Drain&, DeskEffects&) {
  changed_ = changed_ || !draining_;
  draining_ = true;
}

void WorkerDesk::on(const desk_event::Leave& event, DeskEffects& out) {
  on(desk_event::Drain{}, out);
  leaves_at_ = leaves_at_ ? std::min(*leaves_at_, event.until) : event.until;
  changed_ = true;
  for (auto& [id, job] : jobs_) {
    for (auto& [number, share] : job.shares) {
      if (share.gone || share.phase == SharePhase::kEnded) continue;
      if (share.phase != SharePhase::kRunning) {
        drop({id, number}, share, Refusal::Kind::kBusy, "its worker leaves", out);
      } else if (deadline_of(job, share) <= now_) {
        watch(job, {id, number}, share, out);
      }
    }
  }
}

// --- time ------------------------------------------------------------------------------------------------------------

void WorkerDesk::on(const desk_event::Tick&, DeskEffects& out) {
  for (auto& [id, job] : jobs_) {
    for (auto& [number, share] : job.shares) {
      if (deadline_of(job, share) <= now_) watch(job, {id, number}, share, out);
    }
  }
  if (sweep_at_ > now_) return;
  sweep();
  sweep_at_ = now_ + kSweepEvery;
}

// Each assignment has at most one next deadline.
Instant WorkerDesk::deadline_of(const Job& job, const Share& share) const {
  if (share.gone || share.phase == SharePhase::kEnded) return Instant::never();
  if (share.phase != SharePhase::kRunning) return share.begin_by;
  if (share.killed) return Instant::never();
  if (share.stopping) return share.kill_at;
  const Instant isolated = std::max(job.heard, share.begun) + share.order.isolation_limit;
  return std::min({isolated, next_of_time(share), ends_by(share), leaves_by(job)});
}

// By then its own iterations have ended, or its process does not obey.
Instant WorkerDesk::ends_by(const Share& share) const {
  if (share.until == 0) return Instant::never();
  const Duration at = Duration::seconds(static_cast<int64_t>(share.until - share.order.base_second));
  return share.origin + at + share.graceful_stop + share.order.kill_grace;
}

Instant WorkerDesk::leaves_by(const Job& job) const {
  return leaves_at_ ? std::min(*leaves_at_, job.heard + kSilentMost) : Instant::never();
}

void WorkerDesk::watch(const Job& job, const ShareKey& key, Share& share, DeskEffects& out) {
  if (share.phase != SharePhase::kRunning) {
    BW_PROBE("worker: a share that nobody begins is dropped");
    const bool ready = share.phase == SharePhase::kReady;
    const std::string limit = seconds_text(share.order.isolation_limit);
    drop(key, share, Refusal::Kind::kBusy,
         ready ? "nobody has begun it within " + limit : "it was not prepared within " + limit, out);
    return;
  }
  if (share.stopping) {
    share.killed = true;
    out.push_back(Kill{key});
    return;
  }
  if (ends_by(share) <= now_) {
    BW_PROBE("worker: a share that has handed over does not end");
    share.killed = true;
    share.stop_why = "others have gone on with it";
    out.push_back(Kill{key});
    return;
  }
  if (leaves_by(job) <= now_) {
    stop(key, share, StopHow::kAtOnce, ShareOutcome::kLeft, "its worker leaves", out);
    return;
  }
  if (next_of_time(share) <= now_) return watch_time(key, share, out);
  BW_PROBE("worker: an isolated share is stopped");
  const std::string why =
      fmt::format("nothing was heard of an owner of the job for {}{}", seconds_text(share.order.isolation_limit),
                  job.owner.empty() ? std::string() : fmt::format(", last known '{}'", job.owner));
  stop(key, share, StopHow::kAtOnce, ShareOutcome::kIsolated, why, out);
  out.push_back(Note{true, fmt::format("share {} of job '{}' is stopped: {}", key.share.value(), key.job, why)});
}

void WorkerDesk::sweep() {
  std::erase_if(jobs_, [this](const auto& one) {
    return one.second.shares.empty() && one.second.touched + config_.remember <= now_;
  });
}

Instant WorkerDesk::wake() const {
  Instant next = jobs_.empty() ? Instant::never() : sweep_at_;
  for (const auto& [id, job] : jobs_) {
    for (const auto& [number, share] : job.shares) next = std::min(next, deadline_of(job, share));
  }
  return next;
}

// --- the report ------------------------------------------------------------------------------------------------------

WorkerReport WorkerDesk::report() const {
  WorkerReport made;
  made.cores = cores_.count();
  made.free = cores_.free();
  made.takes_work = takes_work_ && !draining_;
  made.leaves = leaves_at_.has_value();
  for (const auto& [id, job] : jobs_) {
    for (const auto& [number, share] : job.shares) {
      if (!share.gone) made.held.push_back({id, job.fence, number, share.phase});
    }
  }
  return made;
}

std::string WorkerDesk::owner_of(const std::string& job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? std::string() : found->second.owner;
}

std::size_t WorkerDesk::unfinished() const {
  std::size_t count = 0;
  for (const auto& [id, job] : jobs_) {
    for (const auto& [number, share] : job.shares) count += share.core_of_part.empty() ? 0 : 1;
  }
  return count;
}

// Assignments that exceed their time. The worker asks the owner for more before the time ends. If the owner gives no
// more, the process has some seconds to report all that it has measured; then the scenario decides.

void WorkerDesk::set_time(Share& share, Instant ends, Duration ask_before) {
  share.time_ends = ends;
  share.ask_at = ends - std::min(ask_before, share.order.execution_limit / 2);
}

Instant WorkerDesk::next_of_time(const Share& share) {
  switch (share.overtime) {
    case Share::Overtime::kNone: return std::min(share.ask_at, share.time_ends);
    case Share::Overtime::kGrace: return share.time_ends + kGrace;
    case Share::Overtime::kOver: break;
  }
  return Instant::never();
}

std::string WorkerDesk::time_used(const Share& share) {
  return fmt::format("it ran for {}, as long as it may", seconds_text(share.time_ends - share.begun));
}

void WorkerDesk::watch_time(const ShareKey& key, Share& share, DeskEffects& out) {
  if (share.overtime == Share::Overtime::kNone && now_ < share.time_ends) {
    out.push_back(AskForTime{key, share.time_ends - now_});
    share.ask_at = now_ + kAskAgain;
    return;
  }
  const std::string whose = fmt::format("share {} of job '{}'", key.share.value(), key.job);
  if (share.overtime == Share::Overtime::kNone) {
    share.overtime = Share::Overtime::kGrace;
    out.push_back(Warn{key});
    out.push_back(Note{true, fmt::format("{} has {} to end: {}", whose, seconds_text(kGrace), time_used(share))});
    return;
  }
  share.overtime = Share::Overtime::kOver;
  switch (share.order.on_overtime) {
    case plan::OnOvertime::kKill:
      stop(key, share, StopHow::kAtOnce, ShareOutcome::kOvertime, time_used(share), out);
      break;
    case plan::OnOvertime::kPause:
      BW_PROBE("worker: a share is paused");
      out.push_back(Stop{key, StopHow::kGraceful});
      out.push_back(Note{true, fmt::format("{} starts nothing new: {}", whose, time_used(share))});
      break;
    case plan::OnOvertime::kNotify: break;
  }
}

void WorkerDesk::on(const desk_event::TimeGiven& event, DeskEffects& out) {
  Share* const share = find(event.share);
  if (share == nullptr || share->gone || share->phase != SharePhase::kRunning) return;
  if (share->stopping || share->killed) return;
  if (share->overtime != Share::Overtime::kNone) return;  // it came too late
  const MoreTime& answer = event.answer;
  if (answer.granted > Duration::zero()) {
    // It asks for more at the latest when half of the grant is left.
    set_time(*share, share->time_ends + answer.granted, std::min(kAskBefore, answer.granted / 2));
    if (answer.warning) out.push_back(Warn{event.share});
  } else if (answer.over) {
    share->time_ends = std::min(share->time_ends, now_);
  }
}

}  // namespace bellwether::dispatch
