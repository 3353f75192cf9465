// The owner's side of the load fence (docs/contributing/decisions/053-load-fence.md): whether a worker may still hold a
// permit for the assignments that this job has given it. Other workers may run its parts only when it cannot.
//
//   heard → silent (no report, no sign that it hears the answers, or membership doubts it) → gone, or heard again
//
// It belongs to one owner. A new owner counts all permits as given at its takeover. Pure; times are of the owner's
// monotonic clock. One thread. A worker is a name and a life: the number that its process drew at its start.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

  // The owner has taken the job over: see above.
  void adopt(Instant now);
  // A report of this life arrived, or the life is ready to begin. `number`: of the report; `answered`: the newest
  // report whose answer the worker has. True: the answer is a permit. A silent worker gets none until it has heard an
  // answer again.
  bool heard(Instant now, const std::string& worker, uint64_t life, uint64_t number = 0, uint64_t answered = 0);
  // Membership says that the worker is dead. False: nothing of it can run, or the job has no fence.
  bool doubt(Instant now, const std::string& worker);
  // `witness` gives the worker `silent` no further permit; its last one ends within `rest`.
  void denied(Instant now, const Witness& silent, const Witness& witness, Duration rest);
  // The process of a witness has ended. The last permit that it gave ends half a permit later.
  void process_ended(Instant now, const std::string& worker, uint64_t life);

  // See JobKernel::permit().
  std::optional<Noted::Permit> permit(Instant now, const std::string& worker, uint64_t life,
                                      const std::vector<AssignmentId>& held, uint64_t number, uint64_t answered);
  // Makes a new list of witnesses when the pool offers more than the list still has, and no worker is silent.
  void renew_witnesses(Instant now, const JobPool& pool);

  // Whether the worker may be running the assignment now, or may begin it without an order.
  bool may_run(Instant now, const AssignmentRecord& assignment) const;
  bool is_silent(const Witness& one) const;
  // The worker is still silent, and has got nothing since that this denial does not cover.
  bool wants(const job_effect::Deny& denial) const;
  // Whether the worker is known to have the present list of witnesses.
  bool knows_witnesses(const Witness& one) const;

  struct Gone {
    Witness who;
    std::string why;
  };
  // Asks the witnesses of workers that have become silent to deny them, and returns the workers that hold no permit.
  std::vector<Gone> look(Instant now, JobEffects& out);
  // Call look() at this time at the latest.
  Instant wake() const { return next_; }

 private:
  struct Life {
    Instant given;         // the time of this owner's last permit
    Instant heard;         // the last proof that it hears this owner
    uint64_t awaited = 0;  // the first report whose answer it may not have heard
    bool doubted = false;
    bool silent = false;
    AssignmentId asked;                  // while it is silent: denials up to this one count
    std::map<uint64_t, Instant> denied;  // by life of a witness: none of its permits counts from this time on
    // Versions of the list of witnesses: in the last answer (to the report `told_in`), and known to the worker.
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
  Instant next_ = Instant::never();
};

}  // namespace bellwether::dispatch
