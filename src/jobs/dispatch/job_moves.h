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
  void call_off(Instant now, ShareSheet& from, const std::string& why, JobEffects& out);
  // This follower has said that it will take over.
  bool takes_over(ShareId follower) const { return taking_over_.contains(follower); }
  void will_take_over(ShareId follower) { taking_over_.insert(follower); }
  // The share that it follows has handed over.
  void promote(Instant now, ShareSheet& follower, JobEffects& out);
  // Its worker is dead before it has said anything: those that follow it go on, as far as they can. These are to begin.
  std::vector<ShareId> release_followers(Instant now, const ShareSheet& from, JobEffects& out);
  Instant next_move() const;

 private:
  bool is_moving() const;
  bool spread(Instant now, uint16_t workflow);
  void settle_move(Instant now, ShareSheet& from, JobEffects& out);

  JobBook& book_;
  JobPool& pool_;
  JobSheet& sheet_ = book_.sheet;
  const JobSpec& spec_ = book_.spec;
  const JobRules& rules_ = book_.rules;
  std::set<ShareId> taking_over_;   // they have said that they will
  std::set<ShareId> handing_over_;  // they were asked to, by this owner
  std::set<ShareId> not_moved_;     // nobody has room for them, and their workers were told so
  Instant rebalance_again_;
};

}  // namespace bellwether::dispatch
