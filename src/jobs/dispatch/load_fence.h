// The owner's side of the load fence (docs/contributing/decisions/053-load-fence.md): whether a worker may still hold a
// permit for the assignments that this job has given it. Only when it cannot, others may run their parts.
//
//   heard → silent (no report, it does not hear the answers, or the members doubt that it lives) → gone, or heard again
//
// It belongs to one owner. A new owner counts all permits as given when it took over. Pure; times are of the owner's
// monotonic clock. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jobs/dispatch/job_book.h"
#include "jobs/dispatch/job_pool.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::dispatch {

class LoadFence {
 public:
  // `book` must outlive it.
  explicit LoadFence(JobBook& book) : book_(book) {}

  void adopt(Instant now);
  // A report of this life, with its number, and the newest one whose answer has arrived; or it is ready to begin. True:
  // the answer is a permit. A silent worker gets none until it has heard an answer again.
  bool heard(Instant now, const std::string& worker, uint64_t life, uint64_t number = 0, uint64_t answered = 0);
  // It says which assignments it runs.
  void sighted(const std::string& worker) { unsighted_.erase(worker); }
  // The members say that it is dead. False: nothing of it can run, or the job has no fence.
  bool doubt(Instant now, const std::string& worker);
  // This witness gives the worker no permit any more; the last one ends within `rest`.
  void denied(Instant now, const Witness& silent, const Witness& witness, Duration rest);
  // The process has ended, and so have the permits that it gives.
  void process_ended(Instant now, const std::string& worker, uint64_t life);

  // See JobKernel::permit().
  std::optional<Noted::Permit> permit(Instant now, const std::string& worker, uint64_t life,
                                      const std::vector<AssignmentId>& held, uint64_t number, uint64_t answered);
  void renew_witnesses(Instant now, const JobPool& pool);

  // The assignment may run now, or begin by itself.
  bool may_run(Instant now, const AssignmentRecord& assignment) const;
  bool is_silent(const Witness& one) const;
  // It has heard which witnesses the job has now.
  bool knows_witnesses(const Witness& one) const;

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
    Instant given;         // then it got the last permit of this owner
    Instant heard;         // since then it has not shown that it hears this owner
    uint64_t awaited = 0;  // the report whose answer was the first one that it may not have heard
    bool doubted = false;
    bool silent = false;
    std::map<uint64_t, Instant> denied;  // by life of a witness: from when on none of its permits counts
    // The witnesses of the last answer, the number of its report, and those that the worker has heard of for certain.
    uint64_t told = 0;
    uint64_t told_in = 0;
    uint64_t knows = 0;
  };
  Instant since(Instant given, Duration span) const;
  Instant ends(const Witness& who, const Life& life, bool unfenced) const;
  // Lives that may run something, and whether something of it is unfenced.
  std::map<std::pair<std::string, uint64_t>, bool> runners(Instant now) const;

  JobBook& book_;
  std::map<std::pair<std::string, uint64_t>, Life> lives_;
  std::map<uint64_t, Instant>
      ended_;  // lives of witnesses whose process has ended: from when on their permits do not count
  std::set<std::string> unsighted_;  // they have not told this owner what they run
  Instant next_ = Instant::never();
};

}  // namespace bellwether::dispatch
