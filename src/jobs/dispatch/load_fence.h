// The owner's side of the load fence (docs/contributing/decisions/053-load-fence.md): whether a worker may still hold a
// permit for the assignments that this job has given it. Only when it cannot, others may run their parts.
//
//   heard → silent (no report, or the members doubt that it lives) → gone, or heard again
//
// It belongs to one owner. A new owner counts all permits as given when it took over. Pure; times are of the owner's
// monotonic clock. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jobs/dispatch/job_book.h"

namespace bellwether::dispatch {

class LoadFence {
 public:
  // `book` must outlive it.
  explicit LoadFence(JobBook& book) : book_(book) {}

  void adopt(Instant now);
  // A report of this life was answered with a permit, or it is ready to begin.
  void heard(Instant now, const std::string& worker, uint64_t life);
  // It says which assignments it runs.
  void sighted(const std::string& worker) { unsighted_.erase(worker); }
  // The members say that it is dead. False: nothing of it can run, or the job has no fence.
  bool doubt(Instant now, const std::string& worker);
  // This witness gives the worker no permit any more; the last one ends within `rest`.
  void denied(Instant now, const Witness& silent, const std::string& witness, Duration rest);
  // The process has ended, and so have the permits that it gives.
  void process_ended(Instant now, const std::string& worker, uint64_t life);

  // The assignment may run now, or begin by itself.
  bool may_run(Instant now, const AssignmentRecord& assignment) const;
  bool is_silent(const Witness& one) const;

  struct Gone {
    Witness who;
    std::string why;
  };
  // Begins the denials of workers that have become silent, and gives those which hold no permit.
  std::vector<Gone> look(Instant now, JobEffects& out);
  // The next time for look(); at the latest.
  Instant wake() const { return next_; }

 private:
  struct Life {
    Instant heard;  // since then it may hold a permit of this owner
    bool doubted = false;
    bool silent = false;
    std::map<std::string, Instant> denied;  // by witness: from when on none of its permits counts
  };
  Instant since(Instant given, Duration span) const;
  Instant ends(const Witness& who, const Life& life, bool unfenced) const;
  // Lives that may run something, and whether something of it is unfenced.
  std::map<std::pair<std::string, uint64_t>, bool> runners(Instant now) const;

  JobBook& book_;
  std::map<std::pair<std::string, uint64_t>, Life> lives_;
  std::map<std::string, Instant> ended_;  // witnesses whose process has ended: from when on their permits do not count
  std::set<std::string> unsighted_;       // they have not told this owner what they run
  Instant next_ = Instant::never();
};

}  // namespace bellwether::dispatch
