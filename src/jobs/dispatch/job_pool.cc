#include "jobs/dispatch/job_pool.h"

#include <algorithm>
#include <utility>

#include "core/base/probe.h"

namespace bellwether::dispatch {
namespace {

// The parts of one core when a worker has died, at most, including its usual one.
constexpr uint32_t kMaxSqueeze = 4;

// A worker that receives parts.
struct Taker {
  const WorkerSight* worker;
  uint32_t free = 0;
  uint32_t parts = 0;  // of this job on it
  uint32_t given = 0;
};

// The worker for the next part: the one with the most free cores, else, if allowed, the least loaded one.
Taker* choose(std::vector<Taker>& takers, bool squeeze) {
  Taker* best = nullptr;
  for (Taker& one : takers) {
    if (one.free > 0 && (best == nullptr || one.free > best->free)) best = &one;
  }
  if (best != nullptr || !squeeze) return best;
  for (Taker& one : takers) {
    const uint64_t load = one.parts + one.given;
    if (one.worker->cores == 0 || load >= uint64_t{one.worker->cores} * kMaxSqueeze) continue;
    if (best == nullptr || load * best->worker->cores < uint64_t{best->parts + best->given} * one.worker->cores) {
      best = &one;
    }
  }
  return best;
}

std::string words_of(const AssignmentRecord& assignment, const std::string& workflow) {
  return fmt::format("{} of {} parts of '{}'", assignment.parts.count, assignment.parts.of, workflow);
}

}  // namespace

// Temporary: a worker may be out of reach for a moment only, and return with the same process.
bool JobPool::usable(Instant now, const WorkerSight& worker) const {
  const auto excluded = excluded_.find({worker.name, worker.life});
  return worker.takes_work && worker.cores > 0 && (excluded == excluded_.end() || excluded->second <= now);
}

void JobPool::exclude(Instant now, const AssignmentRecord& assignment) {
  excluded_[{assignment.worker, assignment.life}] = now + rules_.exclusion;
}

void JobPool::take_in(std::vector<WorkerSight> workers) {
  workers_ = std::move(workers);
  const auto before = std::exchange(aside_, {});
  for (WorkerSight& one : workers_) {
    const auto aside = before.find(one.name);
    if (aside == before.end() || aside->second != one.heard) continue;
    one.free = 0;
    aside_.insert(*aside);
  }
}

void JobPool::set_aside(const std::string& worker) {
  for (WorkerSight& one : workers_) {
    if (one.name != worker) continue;
    one.free = 0;
    aside_[worker] = one.heard;
  }
}

bool JobPool::is_leaving(const AssignmentRecord& assignment) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const WorkerSight& worker) {
    return worker.leaves && worker.name == assignment.worker && worker.life == assignment.life;
  });
}

bool JobPool::has(const Witness& one) const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [&](const WorkerSight& worker) { return worker.life == one.life && worker.name == one.worker; });
}

std::vector<Witness> JobPool::witnesses(Instant now) const {
  std::vector<Witness> out;
  const auto parts = book_.parts_by_worker();
  const auto rank = [&](const WorkerSight& worker) {
    const auto& now_there = record_.witnesses;
    if (std::find(now_there.begin(), now_there.end(), Witness{worker.name, worker.life}) != now_there.end()) return 0;
    return parts.contains(worker.name) ? 1 : 2;
  };
  for (const bool permits : {true, false}) {
    for (const int next : {0, 1, 2}) {
      for (const WorkerSight& worker : workers_) {
        if (out.size() == kMaxWitnesses) break;
        if (worker.permits != permits || rank(worker) != next) continue;
        if (next == 0 || usable(now, worker)) out.push_back({worker.name, worker.life});
      }
    }
    if (!out.empty()) break;
  }
  if (out.size() % 2 == 0 && !out.empty()) out.pop_back();
  return out;
}

bool JobPool::place(Instant now, uint16_t workflow, const std::vector<uint32_t>& parts, bool squeeze,
                    AssignmentId follows) {
  if (parts.empty()) return true;
  std::vector<Taker> takers;
  const auto loads = book_.parts_by_worker();
  for (const bool healthy : {true, false}) {
    for (const WorkerSight& worker : workers_) {
      if (!usable(now, worker) || worker.healthy != healthy || aside_.contains(worker.name)) continue;
      const auto load = loads.find(worker.name);
      takers.push_back({&worker, worker.free, load == loads.end() ? 0U : load->second, 0});
    }
    for (std::size_t i = takers.size(); i > 1; --i) std::swap(takers[i - 1], takers[prng_.below(i)]);
    std::size_t left = parts.size();
    for (Taker& one : takers) one.given = 0;
    std::vector<Taker> trial = takers;
    for (; left > 0; --left) {
      Taker* const next = choose(trial, squeeze);
      if (next == nullptr) break;
      if (next->free > 0) --next->free;
      ++next->given;
    }
    if (left > 0) continue;
    if (record_.assignments.size() + trial.size() + parts.size() > kMaxAssignments) return false;
    std::size_t at = 0;
    for (const Taker& one : trial) {
      uint32_t cores = std::min(one.given, one.worker->free);
      const std::size_t end = at + one.given;
      while (at < end) {  // runs of neighbours
        std::size_t after = at + 1;
        while (after < end && parts[after] == parts[after - 1] + 1) ++after;
        const auto count = static_cast<uint32_t>(after - at);
        const uint32_t own = std::min(cores, count);
        cores -= own;
        // Without a free core, it shares the core that has the fewest parts.
        offer(now, workflow, *one.worker, {parts[at], count, record_.workflows[workflow].parts}, std::max(own, 1U),
              squeeze, follows);
        at = after;
      }
    }
    return true;
  }
  return false;
}

void JobPool::offer(Instant now, uint16_t workflow, const WorkerSight& worker, PartRange parts, uint32_t cores,
                    bool squeeze, AssignmentId follows) {
  AssignmentRecord assignment;
  assignment.id = AssignmentId(++record_.last_assignment);
  assignment.workflow = workflow;
  assignment.worker = worker.name;
  assignment.life = worker.life;
  assignment.parts = parts;
  assignment.cores = cores;
  assignment.squeeze = squeeze;
  assignment.follows = follows;
  assignment.unfenced = !worker.permits;
  for (const uint32_t part : parts_of(parts)) assignment.iterations += book_.iterations_of(workflow, part);
  book_.since[assignment.id] = now;
  book_.to_hold.push_back(job_effect::Offer{assignment.id});
  for (WorkerSight& one : workers_) {
    if (one.life == worker.life && one.name == worker.name) one.free -= std::min(one.free, cores);
  }
  record_.assignments.push_back(std::move(assignment));
  book_.changed = true;
}

// --- which parts move ------------------------------------------------------------------------------------------------

// Moves the assignments of a worker that leaves to others. Without room elsewhere its worker stops them.
void JobMoves::empty_workers(Instant now, JobEffects& out) {
  if (!pool_.any_leaves()) return;
  std::vector<AssignmentId> leaving;
  for (const AssignmentRecord& assignment : record_.assignments) {
    if (assignment.state == AssignmentState::kRunning && !assignment.handed_over && pool_.is_leaving(assignment))
      leaving.push_back(assignment.id);
  }
  for (const AssignmentId id : leaving) {
    const AssignmentRecord assignment = *book_.find(id);
    const bool once = spec_[assignment.workflow].length == Duration::zero();
    if (once || is_final(record_.workflows[assignment.workflow].state) || !book_.followers_of(id).empty()) continue;
    const Instant end = book_.clock_of(assignment.workflow) + spec_[assignment.workflow].length;
    if (now + rules_.hand_over_lead + Duration::seconds(1) >= end || not_moved_.contains(id)) continue;
    if (spec_[assignment.workflow].counted) {
      // Its running iterations end there; when it has reported them, others continue with the rest.
      not_moved_.insert(id);
      out.push_back(job_effect::Stop{id, StopHow::kGraceful, "its worker leaves, and other workers continue the rest"});
      continue;
    }
    if (pool_.place(now, assignment.workflow, parts_of(assignment.parts), true, id)) continue;
    BW_PROBE("dispatch: nobody has room for what a worker runs that leaves");
    not_moved_.insert(id);
    out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "its worker leaves, and no other worker has room for it"});
  }
}

// One at a time: each may use the cores that the last one gave back.
bool JobMoves::is_moving() const {
  return std::any_of(record_.assignments.begin(), record_.assignments.end(),
                     [this](const AssignmentRecord& assignment) {
                       return is_live(assignment) && (assignment.handed_over || book_.is_spare(assignment));
                     });
}

void JobMoves::rebalance(Instant now) {
  if (now < rebalance_again_ || is_moving()) return;
  for (uint16_t w = 0; w < spec_.size(); ++w) {
    const WorkflowRecord& one = record_.workflows[w];
    if (!spec_[w].rebalance || !one.begun || one.state != WorkflowState::kRunning || !book_.gaps(w).empty()) continue;
    if (now + rules_.rebalance_least >= book_.clock_of(w) + spec_[w].length) continue;
    if (spread(now, w)) return;
  }
}

// From the worker with the most parts to the one with the fewest and free cores, if that makes both more even.
bool JobMoves::spread(Instant now, uint16_t workflow) {
  const auto parts_of_workers = book_.parts_by_worker(workflow);
  const auto load_of = [&](const std::string& worker) {
    const auto at = parts_of_workers.find(worker);
    return at == parts_of_workers.end() ? 0U : at->second;
  };
  const WorkerSight* taker = nullptr;
  for (const WorkerSight& worker : pool_.workers()) {
    if (!pool_.usable(now, worker) || !worker.healthy || worker.sought || worker.free == 0) continue;
    if (taker == nullptr || load_of(worker.name) < load_of(taker->name)) taker = &worker;
  }
  if (taker == nullptr) return false;
  const WorkerSight* giver = nullptr;
  const AssignmentRecord* assignment = nullptr;
  for (const WorkerSight& worker : pool_.workers()) {
    if (!pool_.usable(now, worker) || load_of(worker.name) < load_of(taker->name) + 2) continue;
    if (giver != nullptr && load_of(worker.name) <= load_of(giver->name)) continue;
    const AssignmentRecord* most = nullptr;
    for (const AssignmentRecord& one : record_.assignments) {
      if (one.state != AssignmentState::kRunning || one.workflow != workflow || one.worker != worker.name) continue;
      if (most == nullptr || one.parts.count > most->parts.count) most = &one;
    }
    if (most == nullptr) continue;
    giver = &worker;
    assignment = most;
  }
  if (assignment == nullptr) return false;
  const uint32_t even = (load_of(giver->name) - load_of(taker->name)) / 2;
  const uint32_t moved = std::min({even, taker->free, assignment->parts.count});
  const PartRange parts = assignment->parts;
  const AssignmentId from = assignment->id;
  if (record_.assignments.size() + 2 > kMaxAssignments) return false;
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
  std::vector<AssignmentId> moving;
  for (const AssignmentRecord& assignment : record_.assignments) {
    if (book_.is_spare(assignment) && (moving.empty() || moving.back() != assignment.follows))
      moving.push_back(assignment.follows);
  }
  for (const AssignmentId id : moving) {
    AssignmentRecord& from = *book_.find(id);
    const std::vector<AssignmentId> followers = book_.followers_of(id);
    if (from.state != AssignmentState::kRunning || followers.empty()) continue;
    const auto all = [&](auto holds) { return std::all_of(followers.begin(), followers.end(), holds); };
    if (from.until == 0) {
      if (all([this](AssignmentId one) { return book_.find(one)->state == AssignmentState::kReady; }))
        settle_move(now, from, out);
    } else if (all([this](AssignmentId one) { return taking_over_.contains(one); })) {
      if (handing_over_.insert(id).second) out.push_back(job_effect::HandOver{id});
    } else if (book_.moment(from.until) <= now + rules_.hand_over_least) {
      BW_PROBE("dispatch: not all were ready in time to take over");
      call_off(now, from, "not all workers that were to continue it confirmed in time", out);
    }
  }
}

void JobMoves::settle_move(Instant now, AssignmentRecord& from, JobEffects& out) {
  const uint64_t until = static_cast<uint64_t>((book_.elapsed(now) + rules_.hand_over_lead) / Duration::seconds(1)) + 1;
  if (book_.moment(until) >= book_.clock_of(from.workflow) + spec_[from.workflow].length) {
    return call_off(now, from, {}, out);  // its end comes first
  }
  from.until = until;
  for (const AssignmentId one : book_.followers_of(from.id)) {
    book_.find(one)->from = until;
    if (spec_[from.workflow].takes_rows) book_.find(one)->rows = book_.rows_by(from, seconds(until));
    book_.to_take_over.push_back(one);
  }
  book_.changed = true;
}

// It owns its parts from the second at which it begins.
void JobMoves::promote(Instant now, AssignmentRecord& follower, JobEffects& out) {
  const AssignmentRecord& from = *book_.find(follower.follows);
  WorkflowRecord& one = record_.workflows[follower.workflow];
  follower.streams = true;
  follower.from = from.until;
  book_.set(now, follower, AssignmentState::kRunning);
  out.push_back(job_effect::OpenStream{follower.id});
  out.push_back(job_effect::TakeOver{follower.id, book_.clock_of(follower.workflow), true});
  if (follower.worker != from.worker || follower.life != from.life) {
    book_.add_event(now, "assignment_moved",
                    fmt::format("worker '{}' continues, from second {}, {} of worker '{}'", follower.worker, from.until,
                                words_of(follower, spec_[follower.workflow].name), from.worker));
  }
  if (one.state == WorkflowState::kRetrying) book_.become(follower.workflow, WorkflowState::kAssigned, {}, out);
  if (one.state == WorkflowState::kAssigned && book_.gaps(follower.workflow).empty()) {
    book_.become(follower.workflow, WorkflowState::kRunning, {}, out);
  }
}

void JobMoves::call_off(Instant now, AssignmentRecord& from, const std::string& why, JobEffects& out) {
  BW_PROBE("dispatch: an assignment is not handed over after all");
  if (is_live(from) && !why.empty()) {
    book_.add_event(
        now, "assignment_kept",
        fmt::format("worker '{}' keeps {}: {}", from.worker, words_of(from, spec_[from.workflow].name), why));
  }
  for (const AssignmentId id : book_.followers_of(from.id)) {
    AssignmentRecord& follower = *book_.find(id);
    out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "the assignment that it was to replace continues"});
    taking_over_.erase(id);
    book_.set(now, follower, AssignmentState::kGone);
  }
  handing_over_.erase(from.id);
  from.until = 0;
  book_.changed = true;
  rebalance_again_ = now + rules_.rebalance_pause;
}

std::vector<AssignmentId> JobMoves::release_followers(Instant now, const AssignmentRecord& from, JobEffects& out) {
  std::vector<AssignmentId> begin;
  for (const AssignmentId id : book_.followers_of(from.id)) {
    AssignmentRecord& follower = *book_.find(id);
    if (from.until == 0) {
      if (follower.state == AssignmentState::kReady && !book_.adopting) begin.push_back(id);
    } else if (taking_over_.contains(id)) {
      BW_PROBE("dispatch: an assignment dies that was about to hand over");
      book_.write_losses(follower.workflow, parts_of(follower.parts), book_.moment(from.until) - *book_.zero);
      promote(now, follower, out);
    } else {
      // It may have the order to take over, but not the one to go.
      out.push_back(job_effect::Stop{id, StopHow::kAtOnce, "it is reassigned"});
      book_.set(now, follower, AssignmentState::kGone);
    }
  }
  return begin;
}

Instant JobMoves::next_move() const {
  Instant next = Instant::never();
  for (const AssignmentRecord& assignment : record_.assignments) {
    if (!book_.zero || book_.adopting) break;
    const bool begins = !book_.is_spare(assignment) && !book_.unsighted.contains(assignment.id);
    if (assignment.state == AssignmentState::kReady && begins) {
      const Instant busy = book_.runs_elsewhere_until(assignment);
      if (busy != Instant()) next = std::min(next, busy);
    }
    if (assignment.until == 0 || assignment.handed_over || assignment.state != AssignmentState::kRunning) continue;
    if (handing_over_.contains(assignment.id)) continue;
    next = std::min(next, book_.moment(assignment.until) - rules_.hand_over_least);
  }
  return next;
}

}  // namespace bellwether::dispatch
