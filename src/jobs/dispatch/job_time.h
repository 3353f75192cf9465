// The times that a job and its assignments may take, and the end of a stopped job. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/resilience/extension.h"
#include "jobs/dispatch/job_book.h"

namespace bellwether::dispatch {

struct ExtendMessage;
struct MoreTime;

// Overtime and timeouts. The worker of an assignment that exceeds its time asks for more; the owner grants it a few
// times, and less each time. The worker then acts by itself; the owner records it, and ends a paused assignment with
// the rest of the job. It also keeps the timeouts of the job and of its workflows.
class JobTime {
 public:
  // `book` must outlive it.
  explicit JobTime(JobBook& book) : book_(book) {}

  // The time that an assignment may stay in its present state.
  Duration limit_of(const AssignmentRecord& assignment) const;
  MoreTime more_time(Instant now, const ExtendMessage& message, bool suspect, JobEffects& out);
  Instant overdue_at(const AssignmentRecord& assignment) const;
  void look_for_overdue(Instant now);
  void end_paused(Instant now, JobEffects& out);
  // Of the whole job; never for one that is being stopped at once.
  Instant timeout_at() const;
  // The timeout of one workflow: its workers keep it, and the owner does if they do not.
  Instant timeout_at(uint16_t workflow) const;
  void time_out(Instant now, uint16_t workflow, JobEffects& out);

 private:
  Duration time_of(const AssignmentRecord& assignment) const;  // of its worker, with all grants

  JobBook& book_;
  JobRecord& record_ = book_.record;
  const JobSpec& spec_ = book_.spec;
  const JobRules& rules_ = book_.rules;
  std::map<AssignmentId, resilience::ExtensionTracker> trackers_;  // of those whose worker has asked for more time
  std::set<AssignmentId> overdue_;                                 // running although their time is over
};

// The teardown of a job that was stopped or whose load failed. It runs when nothing of the load runs any more, except
// if nothing had begun, after a second cancellation at once, or after the timeout of the job. The stopped
// job waits for it for a limited time.
class JobTeardown {
 public:
  // `book` must outlive it.
  explicit JobTeardown(JobBook& book) : book_(book) {}

  static std::string by_whom(const std::string& by);
  // Records the stop. False: the job is already being stopped.
  bool take_stop(Instant now, const JobStop& stop);
  // One of its assignments ended on an order.
  bool was_stopped(uint16_t workflow) const;
  bool awaits() const;
  // The job is stopped, none of its load runs any more, and the teardown is allowed.
  bool may_begin() const;
  void look(Instant now, JobEffects& out);
  Instant end() const { return since_ && awaits() ? *since_ + rules_.teardown_limit : Instant::never(); }

 private:
  std::string what_runs() const;

  JobBook& book_;
  JobRecord& record_ = book_.record;
  const JobSpec& spec_ = book_.spec;
  const JobRules& rules_ = book_.rules;
  std::optional<Instant> since_;  // of a stopped job: end of its load
};

}  // namespace bellwether::dispatch
