// The pool of workers of a job: which of them it may use, and how its parts are spread over those with cores. One
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
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

}  // namespace bellwether::dispatch
