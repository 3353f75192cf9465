// Parts of shares that run, for others to go on with, without a gap: of a worker that leaves, and onto one that came.
//
// One share, `from`, is followed by new ones that have all its parts between them. What each step waits for, so that
// nothing is issued by two, or by nobody:
//
//   1. The followers are offered and prepared. Whatever fails: the others are stopped, and `from` goes on.
//   2. All are ready: a whole second of the run, a little ahead, is written into the sheet (`until`) and kept.
//   3. Each follower is told to take over then. One that is told too late refuses.
//   4. All have said that they will: `from` is asked to hand over then. When it says so (handed_over), they are its
//      heirs. When it refuses, because it heard of it too late, they are stopped, and it goes on.
//
// Nobody ends before all that come after it are sure to begin, so there is no gap; and as long as `from` has not
// answered, what both sides tell of the seconds from then on is not counted. Who takes the job over finds `until` in
// the sheet, asks the workers, and goes on at the step that their words show.

#include <algorithm>

#include "core/base/probe.h"
#include "jobs/dispatch/job.h"

namespace bellwether::dispatch {

namespace {

std::string words_of(const ShareSheet& share, const std::string& workflow) {
  return std::to_string(share.parts.count) + " of " + std::to_string(share.parts.of) + " parts of '" + workflow + "'";
}

}  // namespace

bool Job::is_spare(const ShareSheet& share) const {
  if (share.follows == ShareId() || share.streams || !is_live(share)) return false;
  const ShareSheet* const from = find(share.follows);
  return from != nullptr && is_live(*from) && !from->handed_over;
}

Job::Hearing Job::hearing(ShareId id, uint64_t second) const {
  const ShareSheet* const share = find(id);
  if (share == nullptr) return Hearing::kUnknown;
  if (share->streams) {
    const bool unsettled = is_live(*share) && share->until != 0 && !share->handed_over && second >= share->until;
    return unsettled ? Hearing::kWaits : Hearing::kCounts;
  }
  if (share->follows == ShareId()) return Hearing::kUnknown;
  return is_live(*share) ? Hearing::kWaits : Hearing::kExcess;
}

bool Job::is_leaving(const ShareSheet& share) const {
  return std::any_of(pool_.begin(), pool_.end(), [&](const WorkerSight& worker) {
    return worker.leaves && worker.name == share.worker && worker.life == share.life;
  });
}

// --- what is to be moved ---------------------------------------------------------------------------------------------

// What a worker runs that leaves goes to the others. Where nobody has room, it is told so, and stops it.
void Job::empty_workers(Instant now, JobEffects& out) {
  std::vector<ShareId> leaving;
  for (const ShareSheet& share : sheet_.shares) {
    if (share.state == ShareState::kRunning && !share.handed_over && is_leaving(share)) leaving.push_back(share.id);
  }
  for (const ShareId id : leaving) {
    const ShareSheet share = *find(id);
    const bool once = spec_[share.workflow].length == Duration::zero();
    if (once || is_final(sheet_.workflows[share.workflow].state) || !parts_.followers_of(id).empty()) continue;
    const Instant end = clock_of(share.workflow) + spec_[share.workflow].length;
    if (now + rules_.hand_over_lead + Duration::seconds(1) >= end || not_moved_.contains(id)) continue;
    if (spec_[share.workflow].counted) {
      // What it has begun ends there; when it has told that, others go on with what is left.
      not_moved_.insert(id);
      out.push_back(job_effect::Stop{id, StopHow::kGraceful, "its worker leaves, and others go on with the rest"});
      continue;
    }
    if (place(now, share.workflow, parts_of(share.parts), true, id)) continue;
    BW_PROBE("dispatch: nobody has room for what a worker runs that leaves");
    not_moved_.insert(id);
    out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "its worker leaves, and nobody has room for it"});
  }
}

// One at a time: cores that are given back by one are there for the next.
bool Job::is_moving() const {
  return std::any_of(sheet_.shares.begin(), sheet_.shares.end(), [this](const ShareSheet& share) {
    return is_live(share) && (share.handed_over || is_spare(share));
  });
}

void Job::rebalance(Instant now) {
  if (now < rebalance_again_ || is_moving()) return;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    const WorkflowSheet& one = sheet_.workflows[w];
    if (!spec_[w].rebalance || !one.begun || one.state != WorkflowState::kRunning || !parts_.gaps(w).empty()) continue;
    if (now + rules_.rebalance_least >= clock_of(w) + spec_[w].length) continue;
    if (spread(now, w)) return;
  }
}

// From the worker with the most parts to the one with the fewest that has free cores, when that makes both more even.
bool Job::spread(Instant now, uint16_t workflow) {
  const auto load_of = [&](const std::string& worker) {
    uint32_t sum = 0;
    for (const ShareSheet& share : sheet_.shares) {
      if (is_live(share) && share.workflow == workflow && share.worker == worker) sum += share.parts.count;
    }
    return sum;
  };
  const WorkerSight* taker = nullptr;
  for (const WorkerSight& worker : pool_) {
    if (!usable(now, worker) || !worker.healthy || worker.sought || worker.free == 0) continue;
    if (taker == nullptr || load_of(worker.name) < load_of(taker->name)) taker = &worker;
  }
  if (taker == nullptr) return false;
  const WorkerSight* giver = nullptr;
  const ShareSheet* share = nullptr;
  for (const WorkerSight& worker : pool_) {
    if (!usable(now, worker) || load_of(worker.name) < load_of(taker->name) + 2) continue;
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
    offer(now, workflow, stays, {parts.first, rest, parts.of}, rest, true, from);
  }
  offer(now, workflow, to, {parts.first + parts.count - moved, moved, parts.of}, moved, false, from);
  return true;
}

// --- how it is moved -------------------------------------------------------------------------------------------------

void Job::move_on(Instant now, JobEffects& out) {
  std::vector<ShareId> moving;
  for (const ShareSheet& share : sheet_.shares) {
    if (is_spare(share) && (moving.empty() || moving.back() != share.follows)) moving.push_back(share.follows);
  }
  for (const ShareId id : moving) {
    ShareSheet& from = *parts_.find(id);
    const std::vector<ShareId> followers = parts_.followers_of(id);
    if (from.state != ShareState::kRunning || followers.empty()) continue;
    const auto all = [&](auto holds) { return std::all_of(followers.begin(), followers.end(), holds); };
    if (from.until == 0) {
      if (all([this](ShareId one) { return find(one)->state == ShareState::kReady; })) settle_move(now, from, out);
    } else if (all([this](ShareId one) { return taking_over_.contains(one); })) {
      if (handing_over_.insert(id).second) out.push_back(job_effect::HandOver{id});
    } else if (moment(from.until) <= now + rules_.hand_over_least) {
      BW_PROBE("dispatch: not all were ready in time to take over");
      call_off(now, from, "not all that were to go on with it have said so in time", out);
    }
  }
}

void Job::settle_move(Instant now, ShareSheet& from, JobEffects& out) {
  const uint64_t until = static_cast<uint64_t>((elapsed(now) + rules_.hand_over_lead) / Duration::seconds(1)) + 1;
  if (moment(until) >= clock_of(from.workflow) + spec_[from.workflow].length) {
    return call_off(now, from, {}, out);  // its end comes first
  }
  from.until = until;
  for (const ShareId one : parts_.followers_of(from.id)) {
    parts_.find(one)->from = until;
    to_take_over_.push_back(one);
  }
  changed_ = true;
}

void Job::taken_over(Instant now, ShareId id, JobEffects& out) {
  const ShareSheet* const share = find(id);
  if (!owned_ || share == nullptr || !is_spare(*share)) return;
  taking_over_.insert(id);
  advance(now, out);
}

void Job::handed_over(Instant now, ShareId id, uint64_t until, JobEffects& out) {
  ShareSheet* const from = parts_.find(id);
  if (!owned_ || from == nullptr || !is_live(*from) || !from->streams || from->handed_over || until == 0) return;
  const std::vector<ShareId> followers = parts_.followers_of(id);
  from->until = until;
  from->handed_over = true;
  from->lost_from = Duration::seconds(static_cast<int64_t>(until));
  set(now, *from, from->state);
  for (const ShareId one : followers) promote(now, *parts_.find(one), out);
  advance(now, out);
}

// Its parts are its own from the second on at which it begins.
void Job::promote(Instant now, ShareSheet& follower, JobEffects& out) {
  const ShareSheet& from = *find(follower.follows);
  WorkflowSheet& one = sheet_.workflows[follower.workflow];
  follower.streams = true;
  follower.from = from.until;
  set(now, follower, ShareState::kRunning);
  out.push_back(job_effect::OpenStream{follower.id});
  if (follower.worker != from.worker || follower.life != from.life) {
    add_event(now, "share_moved",
              "worker '" + follower.worker + "' goes on from second " + std::to_string(from.until) + " with " +
                  words_of(follower, spec_[follower.workflow].name) + ", from worker '" + from.worker + "'");
  }
  if (one.state == WorkflowState::kRetrying) become(follower.workflow, WorkflowState::kAssigned, {}, out);
  if (one.state == WorkflowState::kAssigned && parts_.gaps(follower.workflow).empty()) {
    become(follower.workflow, WorkflowState::kRunning, {}, out);
  }
}

void Job::kept_on(Instant now, ShareId id, const std::string& why, JobEffects& out) {
  ShareSheet* const from = parts_.find(id);
  if (!owned_ || from == nullptr || from->handed_over || from->until == 0) return;
  call_off(now, *from, why, out);
  advance(now, out);
}

void Job::call_off(Instant now, ShareSheet& from, const std::string& why, JobEffects& out) {
  BW_PROBE("dispatch: a share is not handed over after all");
  const bool late = from.until != 0 && now >= moment(from.until);
  if (is_live(from) && !why.empty()) {
    add_event(now, "share_kept",
              "worker '" + from.worker + "' keeps " + words_of(from, spec_[from.workflow].name) + ": " + why);
  }
  for (const ShareId id : parts_.followers_of(from.id)) {
    ShareSheet& follower = *parts_.find(id);
    out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "the share that it was to follow goes on"});
    if (late && taking_over_.contains(id)) {
      add_event(now, "extra_load",
                "worker '" + follower.worker + "' has begun with " + words_of(follower, spec_[from.workflow].name) +
                    ", which worker '" + from.worker + "' still runs: its requests are not counted");
    }
    taking_over_.erase(id);
    set(now, follower, ShareState::kGone);
  }
  handing_over_.erase(from.id);
  from.until = 0;
  changed_ = true;
  rebalance_again_ = now + rules_.rebalance_pause;
}

void Job::release_followers(Instant now, const ShareSheet& from, JobEffects& out) {
  for (const ShareId id : parts_.followers_of(from.id)) {
    ShareSheet& follower = *parts_.find(id);
    if (from.until == 0) {
      if (follower.state == ShareState::kReady && !adopting_) begin_share(now, follower, out);
    } else if (taking_over_.contains(id)) {
      BW_PROBE("dispatch: a share dies that was about to hand over");
      parts_.write_losses(follower.workflow, parts_of(follower.parts), moment(from.until) - *zero_);
      promote(now, follower, out);
    } else {
      // It may begin or not: others do, from now on.
      out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "it is given to somebody else"});
      set(now, follower, ShareState::kGone);
    }
  }
}

// An heir that died before its time is replaced by one that must not begin earlier.
Instant Job::runs_elsewhere_until(const ShareSheet& share) const {
  Instant until;
  for (const ShareSheet& other : sheet_.shares) {
    const bool overlaps = other.parts.first < share.parts.first + share.parts.count &&
                          share.parts.first < other.parts.first + other.parts.count;
    if (other.id == share.id || other.workflow != share.workflow || !overlaps) continue;
    if (other.handed_over && is_live(other)) until = std::max(until, moment(other.until));
    if (other.state == ShareState::kGone && other.streams) until = std::max(until, told_until(other));
  }
  return until;
}

// The clock of an owner that has taken over may be behind what was measured before: no second of a part counts twice.
Instant Job::told_until(const ShareSheet& gone) const {
  if (spec_[gone.workflow].length == Duration::zero()) return {};
  if (gone.end) return moment(sheet_.workflows[gone.workflow].base_second) + gone.end->ran;
  const auto known = applied_.find(gone.id);
  return moment(gone.from + (known == applied_.end() ? 0 : known->second));
}

void Job::begin_postponed(Instant now, JobEffects& out) {
  for (ShareSheet& share : sheet_.shares) {
    if (share.state == ShareState::kReady && sheet_.workflows[share.workflow].begun) begin_share(now, share, out);
  }
}

Instant Job::next_move() const {
  Instant next = Instant::never();
  for (const ShareSheet& share : sheet_.shares) {
    if (!zero_ || adopting_) break;
    const Instant busy = runs_elsewhere_until(share);
    if (share.state == ShareState::kReady && !is_spare(share) && busy != Instant()) next = std::min(next, busy);
    if (share.until == 0 || share.handed_over || share.state != ShareState::kRunning) continue;
    if (handing_over_.contains(share.id)) continue;
    next = std::min(next, moment(share.until) - rules_.hand_over_least);
  }
  return next;
}

}  // namespace bellwether::dispatch
