// The time that a job and its shares may take, and the end of a job that is stopped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/resilience/extension.h"
#include "jobs/dispatch/job_book.h"

namespace bellwether::dispatch {

struct ExtendLetter;
struct MoreTime;

// Shares that run for longer than they may: their workers ask for more time, which is given a few times, and less each
// time. What then becomes of them their workers do by themselves; here it is written down, and what is paused is ended
// with the rest of the job. And the timeouts of the whole, and of its workflows.
class JobTime {
 public:
  // `book` must outlive it.
  explicit JobTime(JobBook& book) : book_(book) {}

  // How long a share may stay in its present state.
  Duration limit_of(const ShareSheet& share) const;
  MoreTime more_time(Instant now, const ExtendLetter& letter, bool suspect, JobEffects& out);
  Instant overdue_at(const ShareSheet& share) const;
  void look_for_overdue(Instant now);
  void end_paused(Instant now, JobEffects& out);
  // Of the whole job; never for one that is being stopped at once.
  Instant timeout_at() const;
  // The timeout of one workflow: its workers keep to it, and the owner does where they do not.
  Instant timeout_at(uint16_t workflow) const;
  void time_out(Instant now, uint16_t workflow, JobEffects& out);

 private:
  Duration time_of(const ShareSheet& share) const;  // that its worker gives it, with what was granted

  JobBook& book_;
  JobSheet& sheet_ = book_.sheet;
  const JobSpec& spec_ = book_.spec;
  const JobRules& rules_ = book_.rules;
  std::map<ShareId, resilience::ExtensionTracker> trackers_;  // of those whose worker has asked for more time
  std::set<ShareId> overdue_;                                 // that run on although their time is over
};

// Who tidies up after a job that was stopped, or whose load failed: the teardown follows all the same, when nothing of
// the load runs any more. It does not where nothing had begun, after a second cancellation at once, or after the
// timeout of the job; and what was stopped waits for it only for so long.
class JobTeardown {
 public:
  // `book` must outlive it.
  explicit JobTeardown(JobBook& book) : book_(book) {}

  static std::string by_whom(const std::string& by);
  // The job is to be stopped. False: it was told before.
  bool take_stop(Instant now, const JobStop& stop);
  // A share of it ended because it was told to.
  bool was_stopped(uint16_t workflow) const;
  bool awaits() const;
  // The job is stopped, nothing runs any more of what was to be, and what tidies up may.
  bool may_begin() const;
  void look(Instant now, JobEffects& out);
  Instant end() const;

 private:
  std::string what_runs() const;

  JobBook& book_;
  JobSheet& sheet_ = book_.sheet;
  const JobSpec& spec_ = book_.spec;
  const JobRules& rules_ = book_.rules;
  std::optional<Instant> since_;  // of a job that was stopped: its load has ended
};

}  // namespace bellwether::dispatch
