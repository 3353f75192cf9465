// The load fence of a job: which workers get permits, which are silent or gone, and who the witnesses are.

#include <algorithm>
#include <utility>

#include "core/base/probe.h"
#include "jobs/dispatch/job_kernel.h"

namespace bellwether::dispatch {

void JobKernel::worker_gone(Instant now, const std::string& worker, uint64_t life, const std::string& why,
                            JobEffects& out) {
  fence_.process_ended(now, worker, life);
  lose_worker(now, worker, life, why, out);
}

void JobKernel::doubted(Instant now, const std::string& worker, const std::string& why, JobEffects& out) {
  if (!fence_.doubt(now, worker)) return lose_worker(now, worker, 0, why, out);
  for (AssignmentRecord& assignment : record_.assignments) {
    if (assignment.worker != worker || !is_live(assignment) || fence_.may_run(now, assignment)) continue;
    pool_.exclude(now, assignment);
    lose(now, assignment, why, out);
  }
  look_at_fence(now, out);
  advance(now, out);
}

std::optional<Noted::Permit> JobKernel::permit(Instant now, const std::string& worker, uint64_t life,
                                               const std::vector<AssignmentId>& held, uint64_t number,
                                               uint64_t answered) {
  if (!fence_.heard(now, worker, life, number, answered)) return std::nullopt;
  Noted::Permit given;
  given.job = record_.id;
  for (const AssignmentId id : held) {
    const AssignmentRecord* const known = find(id);
    const bool its = known != nullptr && known->worker == worker && known->life == life && is_live(*known);
    if (!its) given.denied.push_back(id);
  }
  if (book_.may_tell_witnesses() && !fence_.knows_witnesses({worker, life})) {
    given.witnesses = record_.witnesses;
    given.witnesses_since = record_.witnesses_since;
  }
  return given;
}

// Workers that join become witnesses, in the place of those that have ended, or beside them. Until all workers know the
// new set, a silent one must be denied by a majority of each. The next change waits for that.
void JobKernel::renew_witnesses(Instant now) {
  if (record_.witnesses.empty() || rules_.permit == Duration::zero()) return;
  const auto& all = record_.assignments;
  const auto holds_of_all = [&](auto holds) {
    return std::all_of(all.begin(), all.end(), [&](const AssignmentRecord& one) {
      return !is_live(one) || holds(Witness{one.worker, one.life});
    });
  };
  if (!record_.witnesses_before.empty()) {
    if (!holds_of_all([this](const Witness& one) { return fence_.knows_witnesses(one); })) return;
    record_.witnesses_before.clear();
    book_.changed = true;
  }
  const auto here = static_cast<std::size_t>(std::count_if(record_.witnesses.begin(), record_.witnesses.end(),
                                                           [this](const Witness& one) { return pool_.has(one); }));
  if (here == kMaxWitnesses) return;  // as usual, and this is asked at each report
  std::vector<Witness> next = pool_.witnesses(now);
  if (next.size() <= here) return;
  if (!holds_of_all([this](const Witness& one) { return !fence_.is_silent(one); })) return;
  BW_PROBE("dispatch: a job gets other witnesses while it runs");
  record_.witnesses_before = record_.witnesses;
  book_.set_witnesses(std::move(next));
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
    pool_.exclude(now, assignment);
    if (!std::exchange(any, true)) book_.add_event(now, "worker_lost", fmt::format("worker '{}': {}", worker, why));
    lose(now, assignment, why, out);
  }
  if (!others) asking_.erase(worker);
  asking_clock_.erase(worker);
  advance(now, out);
}

}  // namespace bellwether::dispatch
