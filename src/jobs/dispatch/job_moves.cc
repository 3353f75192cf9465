#include "jobs/dispatch/job_moves.h"

#include <algorithm>

#include "core/base/probe.h"

namespace bellwether::dispatch {
namespace {

std::string words_of(const ShareSheet& share, const std::string& workflow) {
  return fmt::format("{} of {} parts of '{}'", share.parts.count, share.parts.of, workflow);
}

}  // namespace

// --- which parts move ------------------------------------------------------------------------------------------------

// Moves the assignments of a worker that leaves to others. Without room elsewhere its worker stops them.
void JobMoves::empty_workers(Instant now, JobEffects& out) {
  std::vector<ShareId> leaving;
  for (const ShareSheet& share : sheet_.shares) {
    if (share.state == ShareState::kRunning && !share.handed_over && pool_.is_leaving(share))
      leaving.push_back(share.id);
  }
  for (const ShareId id : leaving) {
    const ShareSheet share = *book_.find(id);
    const bool once = spec_[share.workflow].length == Duration::zero();
    if (once || is_final(sheet_.workflows[share.workflow].state) || !book_.followers_of(id).empty()) continue;
    const Instant end = book_.clock_of(share.workflow) + spec_[share.workflow].length;
    if (now + rules_.hand_over_lead + Duration::seconds(1) >= end || not_moved_.contains(id)) continue;
    if (spec_[share.workflow].counted) {
      // Its running iterations end there; when it has reported them, others continue with the rest.
      not_moved_.insert(id);
      out.push_back(job_effect::Stop{id, StopHow::kGraceful, "its worker leaves, and others go on with the rest"});
      continue;
    }
    if (pool_.place(now, share.workflow, parts_of(share.parts), true, id)) continue;
    BW_PROBE("dispatch: nobody has room for what a worker runs that leaves");
    not_moved_.insert(id);
    out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "its worker leaves, and nobody has room for it"});
  }
}

// One at a time: each may use the cores that the last one gave back.
bool JobMoves::is_moving() const {
  return std::any_of(sheet_.shares.begin(), sheet_.shares.end(), [this](const ShareSheet& share) {
    return is_live(share) && (share.handed_over || book_.is_spare(share));
  });
}

void JobMoves::rebalance(Instant now) {
  if (now < rebalance_again_ || is_moving()) return;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    const WorkflowSheet& one = sheet_.workflows[w];
    if (!spec_[w].rebalance || !one.begun || one.state != WorkflowState::kRunning || !book_.gaps(w).empty()) continue;
    if (now + rules_.rebalance_least >= book_.clock_of(w) + spec_[w].length) continue;
    if (spread(now, w)) return;
  }
}

// From the worker with the most parts to the one with the fewest and free cores, if that makes both more even.
bool JobMoves::spread(Instant now, uint16_t workflow) {
  const auto load_of = [&](const std::string& worker) {
    uint32_t sum = 0;
    for (const ShareSheet& share : sheet_.shares) {
      if (is_live(share) && share.workflow == workflow && share.worker == worker) sum += share.parts.count;
    }
    return sum;
  };
  const WorkerSight* taker = nullptr;
  for (const WorkerSight& worker : pool_.workers()) {
    if (!pool_.usable(now, worker) || !worker.healthy || worker.sought || worker.free == 0) continue;
    if (taker == nullptr || load_of(worker.name) < load_of(taker->name)) taker = &worker;
  }
  if (taker == nullptr) return false;
  const WorkerSight* giver = nullptr;
  const ShareSheet* share = nullptr;
  for (const WorkerSight& worker : pool_.workers()) {
    if (!pool_.usable(now, worker) || load_of(worker.name) < load_of(taker->name) + 2) continue;
    if (giver != nullptr && load_of(worker.name) <= load_of(giver->name)) continue;
    const ShareSheet* most = nullptr;
    for (const ShareSheet& one : sheet_.shares) {
      if (one.state != ShareState::kRunning || one.workflow != workflow || one.worker != worker.name) continue;
      if (most == nullptr || one.parts.count > most->parts.count) most = &one;
    }
    if (most == nullptr) continue;
    giver = &worker;
    share = most;
  }
  if (share == nullptr) return false;
  const uint32_t even = (load_of(giver->name) - load_of(taker->name)) / 2;
  const uint32_t moved = std::min({even, taker->free, share->parts.count});
  const PartRange parts = share->parts;
  const ShareId from = share->id;
  if (sheet_.shares.size() + 2 > kMostShares) return false;
  BW_PROBE("dispatch: parts are spread onto another worker");
  const WorkerSight to = *taker;
  const WorkerSight stays = *giver;
  if (moved < parts.count) {
    const uint32_t rest = parts.count - moved;
    pool_.offer(now, workflow, stays, {parts.first, rest, parts.of}, rest, true, from);
  }
  pool_.offer(now, workflow, to, {parts.first + parts.count - moved, moved, parts.of}, moved, false, from);
  return true;
}

// --- how they move ---------------------------------------------------------------------------------------------------

void JobMoves::move_on(Instant now, JobEffects& out) {
  std::vector<ShareId> moving;
  for (const ShareSheet& share : sheet_.shares) {
    if (book_.is_spare(share) && (moving.empty() || moving.back() != share.follows)) moving.push_back(share.follows);
  }
  for (const ShareId id : moving) {
    ShareSheet& from = *book_.find(id);
    const std::vector<ShareId> followers = book_.followers_of(id);
    if (from.state != ShareState::kRunning || followers.empty()) continue;
    const auto all = [&](auto holds) { return std::all_of(followers.begin(), followers.end(), holds); };
    if (from.until == 0) {
      if (all([this](ShareId one) { return book_.find(one)->state == ShareState::kReady; }))
        settle_move(now, from, out);
    } else if (all([this](ShareId one) { return taking_over_.contains(one); })) {
      if (handing_over_.insert(id).second) out.push_back(job_effect::HandOver{id});
    } else if (book_.moment(from.until) <= now + rules_.hand_over_least) {
      BW_PROBE("dispatch: not all were ready in time to take over");
      call_off(now, from, "not all that were to go on with it have said so in time", out);
    }
  }
}

void JobMoves::settle_move(Instant now, ShareSheet& from, JobEffects& out) {
  const uint64_t until = static_cast<uint64_t>((book_.elapsed(now) + rules_.hand_over_lead) / Duration::seconds(1)) + 1;
  if (book_.moment(until) >= book_.clock_of(from.workflow) + spec_[from.workflow].length) {
    return call_off(now, from, {}, out);  // its end comes first
  }
  from.until = until;
  for (const ShareId one : book_.followers_of(from.id)) {
    book_.find(one)->from = until;
    book_.to_take_over.push_back(one);
  }
  book_.changed = true;
}

// It owns its parts from the second at which it begins.
void JobMoves::promote(Instant now, ShareSheet& follower, JobEffects& out) {
  const ShareSheet& from = *book_.find(follower.follows);
  WorkflowSheet& one = sheet_.workflows[follower.workflow];
  follower.streams = true;
  follower.from = from.until;
  book_.set(now, follower, ShareState::kRunning);
  out.push_back(job_effect::OpenStream{follower.id});
  if (follower.worker != from.worker || follower.life != from.life) {
    book_.add_event(now, "share_moved",
                    fmt::format("worker '{}' goes on from second {} with {}, from worker '{}'", follower.worker,
                                from.until, words_of(follower, spec_[follower.workflow].name), from.worker));
  }
  if (one.state == WorkflowState::kRetrying) book_.become(follower.workflow, WorkflowState::kAssigned, {}, out);
  if (one.state == WorkflowState::kAssigned && book_.gaps(follower.workflow).empty()) {
    book_.become(follower.workflow, WorkflowState::kRunning, {}, out);
  }
}

void JobMoves::call_off(Instant now, ShareSheet& from, const std::string& why, JobEffects& out) {
  BW_PROBE("dispatch: a share is not handed over after all");
  const bool late = from.until != 0 && now >= book_.moment(from.until);
  if (is_live(from) && !why.empty()) {
    book_.add_event(
        now, "share_kept",
        fmt::format("worker '{}' keeps {}: {}", from.worker, words_of(from, spec_[from.workflow].name), why));
  }
  for (const ShareId id : book_.followers_of(from.id)) {
    ShareSheet& follower = *book_.find(id);
    out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "the share that it was to follow goes on"});
    if (late && taking_over_.contains(id)) {
      book_.add_event(
          now, "extra_load",
          fmt::format("worker '{}' has begun with {}, which worker '{}' still runs: its requests are not counted",
                      follower.worker, words_of(follower, spec_[from.workflow].name), from.worker));
    }
    taking_over_.erase(id);
    book_.set(now, follower, ShareState::kGone);
  }
  handing_over_.erase(from.id);
  from.until = 0;
  book_.changed = true;
  rebalance_again_ = now + rules_.rebalance_pause;
}

std::vector<ShareId> JobMoves::release_followers(Instant now, const ShareSheet& from, JobEffects& out) {
  std::vector<ShareId> begin;
  for (const ShareId id : book_.followers_of(from.id)) {
    ShareSheet& follower = *book_.find(id);
    if (from.until == 0) {
      if (follower.state == ShareState::kReady && !book_.adopting) begin.push_back(id);
    } else if (taking_over_.contains(id)) {
      BW_PROBE("dispatch: a share dies that was about to hand over");
      book_.write_losses(follower.workflow, parts_of(follower.parts), book_.moment(from.until) - *book_.zero);
      promote(now, follower, out);
    } else {
      // It may begin or not: from now on others run its parts.
      out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "it is given to somebody else"});
      book_.set(now, follower, ShareState::kGone);
    }
  }
  return begin;
}

Instant JobMoves::next_move() const {
  Instant next = Instant::never();
  for (const ShareSheet& share : sheet_.shares) {
    if (!book_.zero || book_.adopting) break;
    const Instant busy = book_.runs_elsewhere_until(share);
    if (share.state == ShareState::kReady && !book_.is_spare(share) && busy != Instant()) next = std::min(next, busy);
    if (share.until == 0 || share.handed_over || share.state != ShareState::kRunning) continue;
    if (handing_over_.contains(share.id)) continue;
    next = std::min(next, book_.moment(share.until) - rules_.hand_over_least);
  }
  return next;
}

}  // namespace bellwether::dispatch
