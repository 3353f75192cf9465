// What becomes of shares: refused, ready, begun, ended, lost.

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "jobs/dispatch/job.h"

namespace bellwether::dispatch {
namespace {

Duration seconds(uint64_t count) { return Duration::seconds(static_cast<int64_t>(count)); }

bool is_failure(ShareOutcome outcome) {
  return outcome == ShareOutcome::kFailed || outcome == ShareOutcome::kCrashed || outcome == ShareOutcome::kKilled;
}

}  // namespace

void Job::set(Instant now, ShareSheet& share, ShareState state) {
  share.state = state;
  share_since_[share.id] = now;
  changed_ = true;
}

Instant Job::clock_of(uint16_t workflow) const {
  check(zero_.has_value(), "a clock is asked for after the begin");
  return *zero_ + seconds(sheet_.workflows[workflow].base_second);
}

// How long a share may stay in its present state.
Duration Job::limit_of(const ShareSheet& share) const {
  const WorkflowSpec& spec = spec_[share.workflow];
  const Duration ending = spec.graceful_stop + rules_.kill_grace + rules_.result_limit;
  switch (share.state) {
    case ShareState::kOffered: return rules_.offer_limit;
    case ShareState::kReady: return rules_.dispatch_limit;
    case ShareState::kStopping: return ending;
    case ShareState::kRunning:
      if (share.handed_over) return rules_.hand_over_lead + Duration::seconds(2) + ending;
      if (spec.on_overtime != plan::OnOvertime::kKill) return kLongestSpan;
      return time_of(share) + rules_.extensions.grace + ending;
    case ShareState::kEnded:
    case ShareState::kGone: break;
  }
  return Duration::hours(24);
}

ShareOrder Job::order(ShareId id, JobFence fence) const {
  const ShareSheet* share = find(id);
  check(share != nullptr, "an order is for a share of the job");
  const WorkflowSpec& spec = spec_[share->workflow];
  ShareOrder order;
  order.job = sheet_.id;
  order.share = id;
  order.fence = fence;
  order.workflow = share->workflow;
  order.parts = share->parts;
  order.cores = share->cores;
  order.squeeze = share->squeeze;
  order.base_second = sheet_.workflows[share->workflow].base_second;
  order.seed = sheet_.seed + (uint64_t{share->workflow} << 32U);
  order.bundle = sheet_.bundle;
  order.kill_grace = rules_.kill_grace;
  order.isolation_limit = rules_.isolation_limit;
  order.context_version = sheet_.context_version;
  order.given = context_.given_to(spec);
  if (spec.length > Duration::zero()) order.execution_limit = spec.length + spec.graceful_stop + rules_.overtime;
  order.on_overtime = spec.on_overtime;
  if (spec.counted) order.iterations = share->iterations;
  if (spec.told_vus) order.vus = sheet_.workflows[share->workflow].vus;
  return order;
}

// --- what is told of them --------------------------------------------------------------------------------------------

void Job::offered(Instant now, ShareId id, OfferAnswer answer, const std::string& why, JobEffects& out) {
  ShareSheet* share = parts_.find(id);
  if (!owned_ || share == nullptr || share->state != ShareState::kOffered) return;
  if (answer == OfferAnswer::kReady) {
    set(now, *share, ShareState::kReady);
    // It may have been said after its order had gone out.
    if (spec_[share->workflow].told_vus) to_hold_.push_back(job_effect::Scale{id});
    if (sheet_.workflows[share->workflow].begun && !adopting_) begin_share(now, *share, out);
    return advance(now, out);
  }
  const uint16_t workflow = share->workflow;
  const bool spare = is_spare(*share);
  set_aside(share->worker);
  if (answer == OfferAnswer::kBusy && !spare) {
    busy_ = true;
  } else {
    exclude(now, *share);
    add_event(now, "share_refused", "worker '" + share->worker + "': " + why);
  }
  // One that did not answer may have it all the same.
  out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "it is given to somebody else"});
  lose(now, *share, why, out);
  if (answer == OfferAnswer::kBroken && !spare) fail_workflow(now, workflow, WorkflowState::kFailed, why, out);
  advance(now, out);
}

void Job::begin_share(Instant now, ShareSheet& share, JobEffects& out) {
  if (is_spare(share) || now < runs_elsewhere_until(share)) return;
  if (is_past(now, share.workflow)) {
    BW_PROBE("dispatch: a share is ready when its workflow is over");
    out.push_back(job_effect::Stop{share.id, StopHow::kAtOnce, "its workflow is over"});
    set(now, share, ShareState::kGone);
    return;
  }
  WorkflowSheet& one = sheet_.workflows[share.workflow];
  const bool once = spec_[share.workflow].length == Duration::zero();
  const Instant planned = clock_of(share.workflow);
  const bool resumes = now > planned;
  Instant clock = planned;
  if (resumes && once) {
    // What runs once begins again.
    one.base_second = static_cast<uint64_t>((elapsed(now) + Duration::seconds(1)).ns() / 1'000'000'000);
    clock = clock_of(share.workflow);
  }
  share.from = one.base_second;
  if (resumes && !once) {
    share.from += static_cast<uint64_t>((now - planned).ns() / 1'000'000'000);
    parts_.write_losses(share.workflow, parts_of(share.parts), elapsed(now));
    add_event(now, "share_moved",
              "worker '" + share.worker + "' goes on with " + std::to_string(share.parts.count) + " of " +
                  std::to_string(share.parts.of) + " parts of '" + spec_[share.workflow].name + "'");
  }
  share.streams = true;
  set(now, share, ShareState::kRunning);
  if (one.state == WorkflowState::kAssigned || one.state == WorkflowState::kRetrying) {
    if (one.state == WorkflowState::kRetrying) become(share.workflow, WorkflowState::kAssigned, {}, out);
    if (parts_.gaps(share.workflow).empty()) become(share.workflow, WorkflowState::kRunning, {}, out);
  }
  out.push_back(job_effect::Begin{share.id, clock, resumes && !once});
}

void Job::not_begun(Instant now, ShareId id, const std::string& why, JobEffects& out) {
  ShareSheet* share = parts_.find(id);
  if (!owned_ || share == nullptr || !is_live(*share)) return;
  add_event(now, "share_lost", "worker '" + share->worker + "': " + why);
  lose(now, *share, why, out);
  advance(now, out);
}

void Job::applied(Instant now, ShareId id, uint64_t number, JobEffects& out) {
  uint64_t& known = applied_[id];
  known = std::max(known, number);
  ShareSheet* share = parts_.find(id);
  if (share == nullptr || !is_live(*share) || !has_all_of(*share)) return;
  finish(now, *share, out);
  advance(now, out);
}

void Job::ended(Instant now, ShareId id, const ShareEnd& end, JobEffects& out) {
  ShareSheet* share = parts_.find(id);
  if (!owned_ || share == nullptr || !is_live(*share) || share->end) return;
  if (is_spare(*share)) {
    lose(now, *share, "it ended before it could go on", out);
    return advance(now, out);
  }
  // Of a begin that is not known here: what the worker says when it is asked tells the rest too.
  if (!share->streams && end.last_number > 0) return;
  hear_values(now, *share, end.provided, out);
  share->end = end;
  share->end->provided.clear();
  hear_findings(now, *share, end.findings);
  share->end->findings.clear();
  hear_notes(now, end.notes);
  share->end->notes.clear();
  changed_ = true;
  if (has_all_of(*share)) finish(now, *share, out);
  advance(now, out);
}

// It has ended, and all that it measured is in the account.
void Job::finish(Instant now, ShareSheet& share, JobEffects& out) {
  const uint16_t workflow = share.workflow;
  const bool was_stopped = share.state == ShareState::kStopping;
  const ShareEnd end = *share.end;
  set(now, share, ShareState::kEnded);
  if (share.streams) out.push_back(job_effect::CloseStream{share.id});
  const std::string whose = "worker '" + share.worker + "', workflow '" + spec_[workflow].name + "'";
  // Who was told to stop by an owner that did not live to write that down has left, too.
  const bool unasked =
      end.outcome == ShareOutcome::kStopped && !is_stopped(workflow) && !is_final(sheet_.workflows[workflow].state);
  const bool left = end.outcome == ShareOutcome::kLeft || unasked;
  if (share.handed_over && is_leaving(share)) {
    add_event(now, "worker_left", whose + ": it leaves the cluster, and has handed over");
  }
  if ((end.outcome == ShareOutcome::kIsolated || left) && share.handed_over) {
    const Duration ran = seconds(sheet_.workflows[workflow].base_second) + end.ran;
    if (ran < share.lost_from)
      parts_.add_loss(workflow, parts_.how_lost(share), share.parts.count, ran, share.lost_from);
  } else if ((end.outcome == ShareOutcome::kIsolated || left) && !was_stopped) {
    share.lost_from = seconds(sheet_.workflows[workflow].base_second) + end.ran;
    if (left) {
      exclude(now, share);
      add_event(now, "worker_left",
                whose + (unasked && !is_leaving(share) ? ": it was stopped by one who did not write down why"
                                                       : ": it leaves the cluster"));
    } else {
      add_event(now, "worker_isolated", whose + " heard of no owner of the job, and stopped");
    }
    lose(now, share, left ? "its worker has left" : "it was cut off", out);
  } else if (end.outcome == ShareOutcome::kOvertime) {
    add_event(now, "share_overtime", whose + " ran for too long");
    fail_workflow(now, workflow, WorkflowState::kTimedOut, "ran for longer than it may", out);
  } else if (end.outcome == ShareOutcome::kTimedOut && !is_stopped(workflow)) {
    time_out(now, workflow, out);
  } else if (is_failure(end.outcome)) {
    const std::string why = std::string(to_string(end.outcome)) + ": " + end.detail;
    add_event(now, "share_failed", whose + " " + why);
    if (share.streams && !was_stopped) {
      // What it had not told when it ended.
      const Duration from = seconds(share.from + applied_[share.id]);
      parts_.add_loss(workflow, "worker '" + share.worker + "' lost its process", share.parts.count, from,
                      std::max(from, std::min(elapsed(now), from + Duration::seconds(1))));
    }
    if (!was_stopped) fail_workflow(now, workflow, WorkflowState::kFailed, whose + " " + why, out);
  } else if (end.outcome == ShareOutcome::kAborted && !sheet_.stop) {
    stop(now,
         {JobStop::Cause::kOnError, StopHow::kGraceful, {}, "step " + end.detail + " failed and says on_error: abort"},
         {}, out);
  }
  const bool goes_on = !share.handed_over && share.state == ShareState::kEnded;
  if (goes_on && !parts_.followers_of(share.id).empty()) call_off(now, share, {}, out);
}

void Job::sighted(Instant now, const std::string& worker, uint64_t life, const std::vector<ShareSight>& sights,
                  JobEffects& out) {
  if (!owned_ || over_) return;
  const auto has_begun = [](const ShareSight& sight) { return sight.clock != Duration::zero(); };
  for (const ShareSight& sight : sights) {
    const ShareSheet* share = find(sight.share);
    if (!adopting_ || !has_begun(sight) || share == nullptr || share->worker != worker) continue;
    // The workers know best when it began.
    const WorkflowSheet& one = sheet_.workflows[share->workflow];
    zero_ = now - sight.clock - seconds(one.begun ? one.base_second : sight.from);
    if (sheet_.started.unix_ns == 0) sheet_.started = wall(*zero_);
    break;
  }
  for (ShareSheet& share : sheet_.shares) {
    if (share.worker != worker || !is_live(share)) continue;
    const auto sight =
        std::find_if(sights.begin(), sights.end(), [&](const ShareSight& one) { return one.share == share.id; });
    if (share.life != life || sight == sights.end()) {
      add_event(now, "share_lost", "worker '" + worker + "' does not have it any more");
      lose(now, share, "its worker does not have it any more", out);
      continue;
    }
    if (is_spare(share)) {
      if (has_begun(*sight) && sight->phase == SharePhase::kRunning) taking_over_.insert(share.id);
    } else if (has_begun(*sight) && !share.streams) {
      BW_PROBE("dispatch: a begin that its owner did not live to write down");
      share.streams = true;
      share.from = sight->from;
      changed_ = true;
      WorkflowSheet& one = sheet_.workflows[share.workflow];
      if (!std::exchange(one.begun, true)) one.base_second = sight->from;
      if (sight->from > one.base_second) {
        parts_.write_losses(share.workflow, parts_of(share.parts), seconds(sight->from + 1));
      }
    }
    if (share.state != ShareState::kStopping) {
      if (sight->phase == SharePhase::kReady) set(now, share, ShareState::kReady);
      if (sight->phase == SharePhase::kRunning && share.streams) set(now, share, ShareState::kRunning);
      if (spec_[share.workflow].told_vus) out.push_back(job_effect::Scale{share.id});
    }
    if (share.state == ShareState::kOffered) out.push_back(job_effect::Offer{share.id});
    if (is_stopped(share.workflow) && sight->phase != SharePhase::kEnded) {
      set(now, share, ShareState::kStopping);
      out.push_back(job_effect::Stop{share.id, sheet_.stop->how, sheet_.stop->why});
    }
  }
  asking_.erase(worker);
  for (const ShareSight& sight : sights) {
    if (sight.until != 0) handed_over(now, sight.share, sight.until, out);
    if (sight.phase != SharePhase::kEnded) continue;
    const ShareSheet* share = find(sight.share);
    if (share != nullptr && share->worker == worker && !is_live(*share)) {
      hear_values(now, *share, sight.end.provided, out);
    }
    ended(now, sight.share, sight.end, out);
  }
  advance(now, out);
}

void Job::worker_gone(Instant now, const std::string& worker, uint64_t life, const std::string& why, JobEffects& out) {
  bool any = false;
  bool others = false;  // of another life
  for (ShareSheet& share : sheet_.shares) {
    if (share.worker != worker || !is_live(share)) continue;
    if (life != 0 && share.life != life) {
      others = true;
      continue;
    }
    exclude(now, share);
    if (!std::exchange(any, true)) add_event(now, "worker_lost", "worker '" + worker + "': " + why);
    lose(now, share, why, out);
  }
  if (!others) asking_.erase(worker);
  advance(now, out);
}

void Job::evicted(Instant now, ShareId id, const std::string& why, JobEffects& out) {
  ShareSheet* const share = parts_.find(id);
  if (!owned_ || share == nullptr || !is_live(*share) || !share->streams || share->end) return;
  BW_PROBE("dispatch: a share that stands still is given to somebody else");
  exclude(now, *share);
  add_event(now, "share_evicted",
            "worker '" + share->worker + "', workflow '" + spec_[share->workflow].name + "': " + why);
  // At once: a later owner that does not know why it ended gives it to others as well.
  out.push_back(job_effect::Stop{id, StopHow::kAtOnce, why});
  lose(now, *share, why, out);
  advance(now, out);
}

// Its parts are nobody's any more.
void Job::lose(Instant now, ShareSheet& share, const std::string& why, JobEffects& out) {
  WorkflowSheet& one = sheet_.workflows[share.workflow];
  if (is_spare(share)) {
    set(now, share, ShareState::kGone);
    return call_off(now, *parts_.find(share.follows), "worker '" + share.worker + "': " + why, out);
  }
  if (share.handed_over) {
    // What others go on with is not lost; what it had begun, and did not tell any more, is.
    const Duration counted = seconds(share.from + applied_[share.id]);
    const Duration last = std::max(share.lost_from, std::min(elapsed(now), counted + Duration::seconds(1)));
    if (last > counted) parts_.add_loss(share.workflow, parts_.how_lost(share), share.parts.count, counted, last);
    out.push_back(job_effect::CloseStream{share.id});
    return set(now, share, ShareState::kGone);
  }
  if (share.streams && share.state != ShareState::kEnded) {
    share.lost_from = seconds(share.from + applied_[share.id]);
    out.push_back(job_effect::CloseStream{share.id});
  }
  if (share.streams) lose_iterations(now, share);
  set(now, share, ShareState::kGone);
  if (is_final(one.state) && share.streams && share.end) {
    // It had ended, and not all that it measured had come.
    parts_.write_losses(share.workflow, parts_of(share.parts), seconds(one.base_second) + share.end->ran);
  }
  if (!one.begun || is_final(one.state)) return;
  if (share.streams) ++one.retries;
  if (!is_stopped(share.workflow) && one.state != WorkflowState::kRetrying)
    become(share.workflow, WorkflowState::kRetrying, why, out);
  release_followers(now, share, out);
}

void Job::fail_workflow(Instant now, uint16_t workflow, WorkflowState to, const std::string& why, JobEffects& out) {
  if (is_final(sheet_.workflows[workflow].state)) return;
  lose_rest(now, workflow, std::string(to_string(to)));
  become(workflow, to, why, out);
  stop_shares(now, workflow, StopHow::kAtOnce, "its workflow has failed", out);
}

void Job::stop_shares(Instant now, uint16_t workflow, StopHow how, const std::string& why, JobEffects& out) {
  for (ShareSheet& share : sheet_.shares) {
    if (share.workflow != workflow || !is_live(share)) continue;
    if (!share.streams) {
      // Nothing of it has begun, so there is no result to wait for.
      out.push_back(job_effect::Stop{share.id, StopHow::kAtOnce, why});
      set(now, share, ShareState::kGone);
    } else {
      to_hold_.push_back(job_effect::Stop{share.id, how, why});
      set(now, share, ShareState::kStopping);
    }
  }
}

// Others begin no iteration that it may have begun; which of these it did not tell any more is a loss.
void Job::lose_iterations(Instant now, ShareSheet& share) {
  if (!spec_[share.workflow].counted) return;
  const plan::Iterated& told = iterated_[share.id];
  const Duration ran =
      share.end ? seconds(sheet_.workflows[share.workflow].base_second) + share.end->ran : elapsed(now);
  uint64_t begun = has_all_of(share) ? told.ended : told.begun(std::max(ran - share.lost_from, Duration()));
  if (share.end && share.end->outcome == ShareOutcome::kCompleted) begun = share.iterations;
  begun = std::min(begun, share.iterations);
  share.left = share.iterations - begun;
  if (begun <= told.ended) return;
  parts_.add_loss(
      share.workflow,
      parts_.how_lost(share) + " with " + format_count(begun - told.ended, "iteration") + " that it may have begun",
      share.parts.count, share.lost_from, std::max(ran, share.lost_from));
}

// A workflow that ends before its time, while the run goes on, is missing from then on.
void Job::lose_rest(Instant now, uint16_t workflow, const std::string& how) {
  const WorkflowSheet& one = sheet_.workflows[workflow];
  if (!one.begun || one.parts == 0 || is_past(now, workflow) || spec_[workflow].length == Duration::zero()) return;
  parts_.add_loss(workflow, how, one.parts, elapsed(now), clock_of(workflow) + spec_[workflow].length - *zero_);
}

// The account is a copy, and may be older than the sheet. What it lacks of shares that have ended, their workers still
// have: they are asked, as those that run are. What it lacks of those that are gone is lost with them.
void Job::follow_account(Instant now) {
  for (ShareSheet& share : sheet_.shares) {
    const uint64_t counted = applied_[share.id];
    if (!share.streams || has_all_of(share)) continue;
    const Duration until = seconds(share.from + counted);
    if (share.state == ShareState::kEnded) {
      BW_PROBE("dispatch: a share has ended whose last seconds the account lacks");
      set(now, share, ShareState::kStopping);
    } else if (share.state == ShareState::kGone && until < share.lost_from) {
      BW_PROBE("dispatch: a share is gone whose last seconds the account lacks");
      // Of parts that nobody has gone on with, the loss is not written yet; of iterations all of it was.
      const bool all = is_final(sheet_.workflows[share.workflow].state) || spec_[share.workflow].counted;
      const uint32_t written = all ? share.parts.count : parts_.succeeded(share);
      if (written > 0) parts_.add_loss(share.workflow, parts_.how_lost(share), written, until, share.lost_from);
      share.lost_from = until;
      changed_ = true;
    }
  }
}

}  // namespace bellwether::dispatch
