#include "jobs/dispatch/job_pool.h"

#include <algorithm>
#include <utility>

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

}  // namespace bellwether::dispatch
