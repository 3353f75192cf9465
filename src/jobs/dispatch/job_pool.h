// The pool of workers of a job: which of them it may use, and how its parts are spread over those with cores. One
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/prng.h"
#include "jobs/dispatch/job_book.h"

namespace bellwether::dispatch {

// A worker, as a manager sees it.
struct WorkerSight {
  std::string name;
  uint64_t life = 0;
  uint32_t cores = 0;
  uint32_t free = 0;  // not requested by any job, as far as this manager knows
  bool takes_work = false;
  bool healthy = true;  // others get work only if nothing else is left
  bool leaves = false;  // soon: its assignments are to be handed over
  bool sought = false;  // a job waits for its free cores
  bool held = false;    // it accepts no work because an assignment stands still: that will end
  bool permits = true;  // it says that it makes load only while it holds a permit
  Instant heard;        // when its last report arrived
};

class JobPool {
 public:
  // `book` must outlive it.
  JobPool(JobBook& book, Prng prng) : book_(book), prng_(prng) {}

  void take_in(std::vector<WorkerSight> workers);
  bool any_leaves() const {
    return std::any_of(workers_.begin(), workers_.end(), [](const WorkerSight& worker) { return worker.leaves; });
  }
  const std::vector<WorkerSight>& workers() const { return workers_; }
  bool has(const Witness& one) const;
  bool usable(Instant now, const WorkerSight& worker) const;
  void exclude(Instant now, const AssignmentRecord& assignment);
  // It is offered nothing until its next report.
  void set_aside(const std::string& worker);
  bool is_leaving(const AssignmentRecord& assignment) const;
  // Lives of workers, an odd number: first those that are witnesses, then those that have assignments of the job.
  // Workers that do not say that they keep permits may be no witnesses either, so they are taken only if there are no
  // others.
  std::vector<Witness> witnesses(Instant now) const;
  // Offers all of these parts, or none. `squeeze`: also onto cores in use. `follows`: the assignment that runs them.
  bool place(Instant now, uint16_t workflow, const std::vector<uint32_t>& parts, bool squeeze,
             AssignmentId follows = {});
  void offer(Instant now, uint16_t workflow, const WorkerSight& worker, PartRange parts, uint32_t cores, bool squeeze,
             AssignmentId follows = {});

 private:
  JobBook& book_;
  JobRecord& record_ = book_.record;
  const JobRules& rules_ = book_.rules;
  Prng prng_;
  std::vector<WorkerSight> workers_;
  std::map<std::string, Instant> aside_;  // workers, and when their last report before that arrived
  std::map<std::pair<std::string, uint64_t>, Instant> excluded_;  // lives of workers that died or refused, until when
};

// Moves parts of running assignments without a gap: from a worker that leaves, and onto a worker that joined.
//
// Followers with all its parts replace one assignment, `from`. The steps wait for each other, so that exactly one
// assignment issues each iteration:
//
//   1. The followers are offered and prepared. On any failure the others are stopped, and `from` goes on.
//   2. All are ready: the record gets a whole second of the run in the near future (`until`), and is kept.
//   3. Each follower is ordered to take over then. It refuses an order that comes too late. Its permit ends then.
//   4. All have confirmed: `from` is asked to hand over then. If it confirms (handed_over), they are its heirs. If
//      it refuses, because the request came too late, they are stopped, and it goes on.
//   5. Each heir is ordered to go: it gets permits for what comes after `until`. A follower without that order ends at
//      `until` and has begun nothing, so it never runs beside `from`.
//
// No assignment ends before all its followers are prepared, so a gap arises only if the last message comes too late.
// Until `from` has answered, the ingest does not count what both sides report of the seconds from `until` on. A new
// owner finds `until` in the record, asks the workers, and goes on at the step that their answers show. One thread.
class JobMoves {
 public:
  // Both must outlive it.
  JobMoves(JobBook& book, JobPool& pool) : book_(book), pool_(pool) {}

  void empty_workers(Instant now, JobEffects& out);
  void rebalance(Instant now);
  void move_on(Instant now, JobEffects& out);
  void call_off(Instant now, AssignmentRecord& from, const std::string& why, JobEffects& out);
  // This follower has confirmed that it will take over.
  bool takes_over(AssignmentId follower) const { return taking_over_.contains(follower); }
  void will_take_over(AssignmentId follower) { taking_over_.insert(follower); }
  // The assignment before it has handed over, or runs no more.
  void promote(Instant now, AssignmentRecord& follower, JobEffects& out);
  // Its worker died without an answer: its followers go on as far as they can. Returns those that are to begin.
  std::vector<AssignmentId> release_followers(Instant now, const AssignmentRecord& from, JobEffects& out);
  Instant next_move() const;

 private:
  bool is_moving() const;
  bool spread(Instant now, uint16_t workflow);
  void settle_move(Instant now, AssignmentRecord& from, JobEffects& out);

  JobBook& book_;
  JobPool& pool_;
  JobRecord& record_ = book_.record;
  const JobSpec& spec_ = book_.spec;
  const JobRules& rules_ = book_.rules;
  std::set<AssignmentId> taking_over_;   // those that confirmed
  std::set<AssignmentId> handing_over_;  // those that this owner asked
  std::set<AssignmentId> not_moved_;     // no worker has room for them, and their workers know it
  Instant rebalance_again_;
};

}  // namespace bellwether::dispatch
