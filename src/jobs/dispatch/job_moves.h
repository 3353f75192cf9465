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
#pragma once

#include <set>
#include <string>
#include <vector>

#include "jobs/dispatch/job_pool.h"

namespace bellwether::dispatch {

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
