// Assigns the parts of a job to workers, and follows the assignments: refused, ready, begun, ended, lost.

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "jobs/dispatch/job_desk.h"
#include "load/plan/schedule.h"

namespace bellwether::dispatch {

namespace {

bool is_failure(ShareOutcome outcome) {
  return outcome == ShareOutcome::kFailed || outcome == ShareOutcome::kCrashed || outcome == ShareOutcome::kKilled;
}

}  // namespace

// --- assigning -------------------------------------------------------------------------------------------------------

std::vector<uint16_t> JobDesk::ready_workflows() const {
  std::vector<uint16_t> ready;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    if (!book_.waits(w)) continue;
    // A teardown waits until nothing runs any more of what it follows.
    const bool met = plan::may_begin(spec_[w], [&](uint16_t need) {
      return spec_[w].is_teardown && book_.has_live(need) ? plan::Standing::kOpen : book_.standing(need);
    });
    if (met) ready.push_back(w);
  }
  return ready;
}

// Assigns nothing without room for a whole group: a load test that begins in pieces measures nothing.
void JobDesk::plan_group(Instant now, JobEffects& out) {
  if (!layers_.pass_border(now, out)) {
    const auto ended = [](const WorkflowSheet& one) { return is_final(one.state); };
    if (std::all_of(sheet_.workflows.begin(), sheet_.workflows.end(), ended)) conclude(now, out);
    return;
  }
  if (group_again_ && now < *group_again_) return;
  group_again_.reset();
  uint32_t total = 0;
  uint32_t free = 0;
  for (const WorkerSight& worker : pool_.workers()) {
    if (!pool_.usable(now, worker)) continue;
    total += worker.cores;
    free += worker.free;
  }
  const std::vector<uint16_t> ready = ready_workflows();
  if (ready.empty()) return;  // a teardown, until nothing runs any more of what failed
  if (total == 0) {
    if (std::any_of(pool_.workers().begin(), pool_.workers().end(),
                    [](const WorkerSight& worker) { return worker.held; })) {
      no_workers_since_.reset();
      return;
    }
    if (!no_workers_since_) no_workers_since_ = now;
    if (now - *no_workers_since_ < rules_.worker_wait) return;
    const std::string why =
        fmt::format("no worker that takes work was there for {} s", rules_.worker_wait.ns() / 1'000'000'000);
    for (const uint16_t w : ready) book_.become(w, WorkflowState::kFailed, why, out);
    no_workers_since_.reset();
    book_.skip_dependents(out);
    return conclude(now, out);
  }
  no_workers_since_.reset();
  std::vector<plan::CoreDemand> demands;
  for (const uint16_t w : ready) demands.push_back({w, spec_[w].priority, spec_[w].is_test, spec_[w].vus});
  const std::vector<plan::CoreGrant> group = plan::core_batches(demands, total).front();
  uint32_t wanted = 0;
  for (const plan::CoreGrant& grant : group) wanted += grant.cores;
  if (wanted > free) return;
  for (const plan::CoreGrant& grant : group) {
    std::vector<uint32_t> parts(grant.cores);
    for (uint32_t i = 0; i < grant.cores; ++i) parts[i] = i;
    sheet_.workflows[grant.workflow].parts = grant.cores;
    if (!pool_.place(now, grant.workflow, parts, false))
      return take_group_back(now, "the workers' cores are taken", false, out);
    book_.become(grant.workflow, WorkflowState::kAssigned, {}, out);
  }
  if (sheet_.state == JobState::kQueued) book_.become(JobState::kDispatching, {}, out);
}

// Parts of assigned workflows that no worker runs.
void JobDesk::fill_gaps(Instant now, JobEffects& out) {
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    WorkflowSheet& one = sheet_.workflows[w];
    if (!book_.is_active(w)) continue;
    const std::vector<uint32_t> left = book_.gaps(w);
    if (left.empty()) {
      gap_since_.erase(w);
      continue;
    }
    gap_since_.try_emplace(w, now);
    if (hopeless(now, w)) {
      gap_since_.erase(w);
      if (one.begun) continue;
      return take_group_back(now, "its share was refused or its worker died, and nobody else has room", true, out);
    }
    // Before the begin nothing is squeezed in: it would distort the whole measurement.
    if (!one.begun) {
      if (!pool_.place(now, w, left, false)) {
        return take_group_back(now, fmt::format("no other worker has room for '{}'", spec_[w].name), !busy_, out);
      }
      continue;
    }
    std::vector<uint32_t> placeable;
    for (const uint32_t part : left) {
      if (book_.deaths(w, part) <= rules_.retries_most) placeable.push_back(part);
    }
    bool any = pool_.place(now, w, placeable, true);
    // Some of them are better than none.
    for (std::size_t i = 0; !any && i < placeable.size() && pool_.place(now, w, {placeable[i]}, true); ++i) {
      any = i + 1 == placeable.size();
    }
    if (book_.gaps(w).size() == left.size()) continue;
    BW_PROBE("dispatch: parts are given to somebody else");
    if (one.state == WorkflowState::kRetrying) book_.become(w, WorkflowState::kAssigned, {}, out);
  }
}

// Takes back the assigned part of a group that cannot begin; the group is tried again a little later.
void JobDesk::take_group_back(Instant now, const std::string& why, bool counts, JobEffects& out) {
  BW_PROBE("dispatch: a group is taken back");
  // To wait for cores is no failure.
  if (counts) ++group_attempts_;
  busy_ = false;
  const bool enough = group_attempts_ >= rules_.dispatch_attempts;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    WorkflowSheet& one = sheet_.workflows[w];
    if (one.begun || is_final(one.state) || one.parts == 0) continue;
    book_.stop_shares(now, w, StopHow::kAtOnce, why, out);
    gap_since_.erase(w);
    one.parts = 0;
    if (enough) {
      book_.become(w, WorkflowState::kFailed, "could not be handed out: " + why, out);
    } else if (one.state == WorkflowState::kAssigned) {
      book_.become(w, WorkflowState::kRetrying, why, out);
    }
  }
  if (counts) book_.add_event(now, "dispatch_failed", why);
  if (sheet_.state == JobState::kDispatching && !enough) book_.become(JobState::kQueued, why, out);
  group_again_ = now + rules_.dispatch_pause * (int64_t{1} << std::min(std::max(group_attempts_, 1U) - 1, 10U));
  if (enough) {
    group_attempts_ = 0;
    book_.skip_dependents(out);
    conclude(now, out);
  }
}

// No worker will run the parts that do not run now.
bool JobDesk::hopeless(Instant now, uint16_t workflow) const {
  const std::vector<uint32_t> left = book_.gaps(workflow);
  const auto too_often = [&](uint32_t part) { return book_.deaths(workflow, part) > rules_.retries_most; };
  if (!left.empty() && std::all_of(left.begin(), left.end(), too_often)) return true;
  const auto since = gap_since_.find(workflow);
  if (since != gap_since_.end() && now - since->second >= rules_.dispatch_limit) return true;
  return book_.is_past(now, workflow);
}

// --- reports ---------------------------------------------------------------------------------------------------------

void JobDesk::offered(Instant now, ShareId id, OfferAnswer answer, const std::string& why, JobEffects& out) {
  ShareSheet* share = book_.find(id);
  if (!book_.owned || share == nullptr || share->state != ShareState::kOffered) return;
  if (answer == OfferAnswer::kReady) {
    book_.set(now, *share, ShareState::kReady);
    // The number may have changed after its order was sent.
    if (spec_[share->workflow].told_vus) book_.to_hold.push_back(job_effect::Scale{id});
    if (sheet_.workflows[share->workflow].begun && !book_.adopting) begin_share(now, *share, out);
    return advance(now, out);
  }
  const uint16_t workflow = share->workflow;
  const bool spare = book_.is_spare(*share);
  pool_.set_aside(share->worker);
  if (answer == OfferAnswer::kBusy && !spare) {
    busy_ = true;
  } else {
    pool_.exclude(now, *share);
    book_.add_event(now, "share_refused", fmt::format("worker '{}': {}", share->worker, why));
  }
  // A worker that did not answer may have it all the same.
  out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "it is given to somebody else"});
  lose(now, *share, why, out);
  if (answer == OfferAnswer::kBroken && !spare) book_.fail_workflow(now, workflow, WorkflowState::kFailed, why, out);
  advance(now, out);
}

void JobDesk::begin_share(Instant now, ShareSheet& share, JobEffects& out) {
  if (book_.is_spare(share) || now < book_.runs_elsewhere_until(share)) return;
  if (book_.is_past(now, share.workflow)) {
    BW_PROBE("dispatch: a share is ready when its workflow is over");
    out.push_back(job_effect::Stop{share.id, StopHow::kAtOnce, "its workflow is over"});
    book_.set(now, share, ShareState::kGone);
    return;
  }
  WorkflowSheet& one = sheet_.workflows[share.workflow];
  const bool once = spec_[share.workflow].length == Duration::zero();
  const Instant planned = book_.clock_of(share.workflow);
  const bool resumes = now > planned;
  Instant clock = planned;
  if (resumes && once) {
    // A part that runs once begins again.
    one.base_second = static_cast<uint64_t>((book_.elapsed(now) + Duration::seconds(1)).ns() / 1'000'000'000);
    clock = book_.clock_of(share.workflow);
  }
  share.from = one.base_second;
  if (resumes && !once) {
    share.from += static_cast<uint64_t>((now - planned).ns() / 1'000'000'000);
    book_.write_losses(share.workflow, parts_of(share.parts), book_.elapsed(now));
    book_.add_event(now, "share_moved",
                    fmt::format("worker '{}' goes on with {} of {} parts of '{}'", share.worker, share.parts.count,
                                share.parts.of, spec_[share.workflow].name));
  }
  share.streams = true;
  book_.set(now, share, ShareState::kRunning);
  if (one.state == WorkflowState::kAssigned || one.state == WorkflowState::kRetrying) {
    if (one.state == WorkflowState::kRetrying) book_.become(share.workflow, WorkflowState::kAssigned, {}, out);
    if (book_.gaps(share.workflow).empty()) book_.become(share.workflow, WorkflowState::kRunning, {}, out);
  }
  out.push_back(job_effect::Begin{share.id, clock, resumes && !once});
}

void JobDesk::begin_ready(Instant now, JobEffects& out) {
  for (ShareSheet& share : sheet_.shares) {
    if (share.state == ShareState::kReady && sheet_.workflows[share.workflow].begun) begin_share(now, share, out);
  }
}

void JobDesk::not_begun(Instant now, ShareId id, const std::string& why, JobEffects& out) {
  ShareSheet* share = book_.find(id);
  if (!book_.owned || share == nullptr || !is_live(*share)) return;
  book_.add_event(now, "share_lost", fmt::format("worker '{}': {}", share->worker, why));
  lose(now, *share, why, out);
  advance(now, out);
}

void JobDesk::taken_over(Instant now, ShareId id, JobEffects& out) {
  const ShareSheet* const share = find(id);
  if (!book_.owned || share == nullptr || !book_.is_spare(*share)) return;
  moves_.will_take_over(id);
  advance(now, out);
}

void JobDesk::handed_over(Instant now, ShareId id, uint64_t until, JobEffects& out) {
  ShareSheet* const from = book_.find(id);
  if (!book_.owned || from == nullptr || !is_live(*from) || !from->streams || from->handed_over || until == 0) return;
  const std::vector<ShareId> followers = book_.followers_of(id);
  from->until = until;
  from->handed_over = true;
  from->lost_from = Duration::seconds(static_cast<int64_t>(until));
  book_.set(now, *from, from->state);
  for (const ShareId one : followers) moves_.promote(now, *book_.find(one), out);
  advance(now, out);
}

void JobDesk::kept_on(Instant now, ShareId id, const std::string& why, JobEffects& out) {
  ShareSheet* const from = book_.find(id);
  if (!book_.owned || from == nullptr || from->handed_over || from->until == 0) return;
  moves_.call_off(now, *from, why, out);
  advance(now, out);
}

void JobDesk::applied(Instant now, ShareId id, uint64_t number, JobEffects& out) {
  uint64_t& known = book_.applied[id];
  known = std::max(known, number);
  ShareSheet* share = book_.find(id);
  if (share == nullptr || !is_live(*share) || !book_.has_all_of(*share)) return;
  finish(now, *share, out);
  advance(now, out);
}

void JobDesk::ended(Instant now, ShareId id, const ShareEnd& end, JobEffects& out) {
  ShareSheet* share = book_.find(id);
  if (!book_.owned || share == nullptr || !is_live(*share) || share->end) return;
  if (book_.is_spare(*share)) {
    lose(now, *share, "it ended before it could go on", out);
    return advance(now, out);
  }
  // This owner does not know of the begin: the worker's answer to its question brings the rest too.
  if (!share->streams && end.last_number > 0) return;
  layers_.hear_values(now, *share, end.provided, out);
  share->end = end;
  share->end->provided.clear();
  layers_.hear_findings(now, *share, end.findings);
  share->end->findings.clear();
  layers_.hear_notes(now, end.notes);
  share->end->notes.clear();
  book_.changed = true;
  if (book_.has_all_of(*share)) finish(now, *share, out);
  advance(now, out);
}

void JobDesk::finish(Instant now, ShareSheet& share, JobEffects& out) {
  const uint16_t workflow = share.workflow;
  const bool was_stopped = share.state == ShareState::kStopping;
  const ShareEnd end = *share.end;
  book_.set(now, share, ShareState::kEnded);
  if (share.streams) out.push_back(job_effect::CloseStream{share.id});
  const std::string whose = fmt::format("worker '{}', workflow '{}'", share.worker, spec_[workflow].name);
  // An unrecorded stop counts as leaving, too: its owner died before it recorded the stop.
  const bool unasked = end.outcome == ShareOutcome::kStopped && !book_.is_stopped(workflow) &&
                       !is_final(sheet_.workflows[workflow].state);
  const bool left = end.outcome == ShareOutcome::kLeft || unasked;
  if (share.handed_over && pool_.is_leaving(share)) {
    book_.add_event(now, "worker_left", whose + ": it leaves the cluster, and has handed over");
  }
  if ((end.outcome == ShareOutcome::kIsolated || left) && share.handed_over) {
    const Duration ran = seconds(sheet_.workflows[workflow].base_second) + end.ran;
    if (ran < share.lost_from) book_.add_loss(workflow, book_.how_lost(share), share.parts.count, ran, share.lost_from);
  } else if ((end.outcome == ShareOutcome::kIsolated || left) && !was_stopped) {
    share.lost_from = seconds(sheet_.workflows[workflow].base_second) + end.ran;
    if (left) {
      pool_.exclude(now, share);
      book_.add_event(
          now, "worker_left",
          whose + (unasked && !pool_.is_leaving(share) ? ": it was stopped by one who did not write down why"
                                                       : ": it leaves the cluster"));
    } else {
      book_.add_event(now, "worker_isolated", whose + " heard of no owner of the job, and stopped");
    }
    lose(now, share, left ? "its worker has left" : "it was cut off", out);
  } else if (end.outcome == ShareOutcome::kOvertime) {
    book_.add_event(now, "share_overtime", whose + " ran for too long");
    book_.fail_workflow(now, workflow, WorkflowState::kTimedOut, "ran for longer than it may", out);
  } else if (end.outcome == ShareOutcome::kTimedOut && !book_.is_stopped(workflow)) {
    time_.time_out(now, workflow, out);
  } else if (is_failure(end.outcome)) {
    const std::string why = fmt::format("{}: {}", to_string(end.outcome), end.detail);
    book_.add_event(now, "share_failed", fmt::format("{} {}", whose, why));
    if (share.streams && !was_stopped) {
      // The seconds that it had not reported at its end.
      const Duration from = seconds(share.from + book_.applied[share.id]);
      book_.add_loss(workflow, fmt::format("worker '{}' lost its process", share.worker), share.parts.count, from,
                     std::max(from, std::min(book_.elapsed(now), from + Duration::seconds(1))));
    }
    if (!was_stopped) book_.fail_workflow(now, workflow, WorkflowState::kFailed, fmt::format("{} {}", whose, why), out);
  } else if (end.outcome == ShareOutcome::kAborted && !sheet_.stop) {
    stop(now,
         {JobStop::Cause::kOnError,
          StopHow::kGraceful,
          {},
          fmt::format("step {} failed and says on_error: abort", end.detail)},
         {}, out);
  }
  const bool goes_on = !share.handed_over && share.state == ShareState::kEnded;
  if (goes_on && !book_.followers_of(share.id).empty()) moves_.call_off(now, share, {}, out);
}

void JobDesk::sighted(Instant now, const std::string& worker, uint64_t life, const std::vector<ShareSight>& sights,
                      JobEffects& out) {
  if (!book_.owned || book_.over) return;
  const auto has_begun = [](const ShareSight& sight) { return sight.clock != Duration::zero(); };
  for (const ShareSight& sight : sights) {
    const ShareSheet* share = find(sight.share);
    if (!book_.adopting || !has_begun(sight) || share == nullptr || share->worker != worker) continue;
    // The workers know best when it began.
    const WorkflowSheet& one = sheet_.workflows[share->workflow];
    book_.zero = now - sight.clock - seconds(one.begun ? one.base_second : sight.from);
    if (sheet_.started.unix_ns == 0) sheet_.started = book_.wall(*book_.zero);
    break;
  }
  for (ShareSheet& share : sheet_.shares) {
    if (share.worker != worker || !is_live(share)) continue;
    const auto sight =
        std::find_if(sights.begin(), sights.end(), [&](const ShareSight& one) { return one.share == share.id; });
    if (share.life != life || sight == sights.end()) {
      book_.add_event(now, "share_lost", fmt::format("worker '{}' does not have it any more", worker));
      lose(now, share, "its worker does not have it any more", out);
      continue;
    }
    if (book_.is_spare(share)) {
      if (has_begun(*sight) && sight->phase == SharePhase::kRunning) moves_.will_take_over(share.id);
    } else if (has_begun(*sight) && !share.streams) {
      BW_PROBE("dispatch: a begin that its owner did not live to write down");
      share.streams = true;
      share.from = sight->from;
      book_.changed = true;
      WorkflowSheet& one = sheet_.workflows[share.workflow];
      if (!std::exchange(one.begun, true)) one.base_second = sight->from;
      if (sight->from > one.base_second) {
        book_.write_losses(share.workflow, parts_of(share.parts), seconds(sight->from + 1));
      }
    }
    if (share.state != ShareState::kStopping) {
      if (sight->phase == SharePhase::kReady) book_.set(now, share, ShareState::kReady);
      if (sight->phase == SharePhase::kRunning && share.streams) book_.set(now, share, ShareState::kRunning);
      if (spec_[share.workflow].told_vus) out.push_back(job_effect::Scale{share.id});
    }
    if (share.state == ShareState::kOffered) out.push_back(job_effect::Offer{share.id});
    if (book_.is_stopped(share.workflow) && sight->phase != SharePhase::kEnded) {
      book_.set(now, share, ShareState::kStopping);
      out.push_back(job_effect::Stop{share.id, sheet_.stop->how, sheet_.stop->why});
    }
  }
  asking_.erase(worker);
  for (const ShareSight& sight : sights) {
    if (sight.until != 0) handed_over(now, sight.share, sight.until, out);
    if (sight.phase != SharePhase::kEnded) continue;
    const ShareSheet* share = find(sight.share);
    if (share != nullptr && share->worker == worker && !is_live(*share)) {
      layers_.hear_values(now, *share, sight.end.provided, out);
    }
    ended(now, sight.share, sight.end, out);
  }
  advance(now, out);
}

void JobDesk::worker_gone(Instant now, const std::string& worker, uint64_t life, const std::string& why,
                          JobEffects& out) {
  bool any = false;
  bool others = false;  // of another life
  for (ShareSheet& share : sheet_.shares) {
    if (share.worker != worker || !is_live(share)) continue;
    if (life != 0 && share.life != life) {
      others = true;
      continue;
    }
    pool_.exclude(now, share);
    if (!std::exchange(any, true)) book_.add_event(now, "worker_lost", fmt::format("worker '{}': {}", worker, why));
    lose(now, share, why, out);
  }
  if (!others) asking_.erase(worker);
  advance(now, out);
}

void JobDesk::evicted(Instant now, ShareId id, const std::string& why, JobEffects& out) {
  ShareSheet* const share = book_.find(id);
  if (!book_.owned || share == nullptr || !is_live(*share) || !share->streams || share->end) return;
  BW_PROBE("dispatch: a share that stands still is given to somebody else");
  pool_.exclude(now, *share);
  book_.add_event(now, "share_evicted",
                  fmt::format("worker '{}', workflow '{}': {}", share->worker, spec_[share->workflow].name, why));
  // At once: a later owner that does not know why it ended reassigns it as well.
  out.push_back(job_effect::Stop{id, StopHow::kAtOnce, why});
  lose(now, *share, why, out);
  advance(now, out);
}

// Takes its parts from it.
void JobDesk::lose(Instant now, ShareSheet& share, const std::string& why, JobEffects& out) {
  WorkflowSheet& one = sheet_.workflows[share.workflow];
  if (book_.is_spare(share)) {
    book_.set(now, share, ShareState::kGone);
    return moves_.call_off(now, *book_.find(share.follows), fmt::format("worker '{}': {}", share.worker, why), out);
  }
  if (share.handed_over) {
    // Seconds that others run are not lost; seconds that it had begun and did not report are.
    const Duration counted = seconds(share.from + book_.applied[share.id]);
    const Duration last = std::max(share.lost_from, std::min(book_.elapsed(now), counted + Duration::seconds(1)));
    if (last > counted) book_.add_loss(share.workflow, book_.how_lost(share), share.parts.count, counted, last);
    out.push_back(job_effect::CloseStream{share.id});
    return book_.set(now, share, ShareState::kGone);
  }
  if (share.streams && share.state != ShareState::kEnded) {
    share.lost_from = seconds(share.from + book_.applied[share.id]);
    out.push_back(job_effect::CloseStream{share.id});
  }
  if (share.streams) book_.lose_iterations(now, share);
  book_.set(now, share, ShareState::kGone);
  if (is_final(one.state) && share.streams && share.end) {
    // It had ended, and some of its seconds had not arrived.
    book_.write_losses(share.workflow, parts_of(share.parts), seconds(one.base_second) + share.end->ran);
  }
  if (!one.begun || is_final(one.state)) return;
  if (share.streams) ++one.retries;
  if (!book_.is_stopped(share.workflow) && one.state != WorkflowState::kRetrying)
    book_.become(share.workflow, WorkflowState::kRetrying, why, out);
  for (const ShareId id : moves_.release_followers(now, share, out)) begin_share(now, *book_.find(id), out);
}

}  // namespace bellwether::dispatch
