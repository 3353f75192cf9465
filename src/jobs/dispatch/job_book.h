// The owner's copy of the job record: assignments, losses, and every change together with the effects that wait until a
// quorum keeps it. The owner writes losses while the run goes on (docs/contributing/decisions/018-losses.md). The
// kernel of the job (job_kernel.h) reads and writes here. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jobs/dispatch/job_record.h"

namespace bellwether::dispatch {

namespace job_effect {
// Make record() durable, then call kept() with its revision. A newer one replaces an older one that waits.
struct Keep {
  uint64_t revision = 0;
};
// Only if it is still offered when the driver executes this.
struct Offer {
  AssignmentId assignment;
};
// The workflow's clock begins, or began, at `clock`. Open its stream (jobs/ingest/run_ingest.h).
struct Begin {
  AssignmentId assignment;
  Instant clock;
  bool resumes = false;
};
// Order it to take over from the assignment before it at the hand-over; then call taken_over() or not_begun(). With
// `go` that one has confirmed its end, or is dead: the follower may begin.
struct TakeOver {
  AssignmentId assignment;
  Instant clock;
  bool go = false;
};
// Ask it to hand over at `until` of its record; repeat until it answers; then call handed_over() or kept_on().
struct HandOver {
  AssignmentId assignment;
};
// From now on the ingest counts its seconds.
struct OpenStream {
  AssignmentId assignment;
};
// The number of users of its workflow has changed: send it until the worker confirms the number of the record.
struct Scale {
  AssignmentId assignment;
};
struct Stop {
  AssignmentId assignment;
  StopHow how = StopHow::kAtOnce;
  std::string why;
  bool evict = false;  // see StopMessage
};
// Its worker is silent: ask every witness of the job for a denial of the assignments up to `last`, and ask again, as
// long as JobKernel::wants() it; then call denied().
struct Deny {
  Witness silent;
  AssignmentId last;
};
// From now on the ingest counts nothing of its stream.
struct CloseStream {
  AssignmentId assignment;
};
// All workflows have ended and all is counted: make the ingest durable, then call concluded().
struct Conclude {};
// Make context() durable, then call context_kept() with its version. A newer one replaces an older one that waits.
struct KeepContext {
  uint64_t version = 0;
};
// The last record is durable: the workers may delete the job.
struct Over {};
// For the log.
struct Moved {
  std::string what;  // "job", or the workflow's name
  std::string_view from;
  std::string_view to;
  std::string why;
};
}  // namespace job_effect
using JobEffect =
    std::variant<job_effect::Keep, job_effect::Offer, job_effect::Begin, job_effect::TakeOver, job_effect::HandOver,
                 job_effect::OpenStream, job_effect::Scale, job_effect::Stop, job_effect::Deny, job_effect::CloseStream,
                 job_effect::Conclude, job_effect::KeepContext, job_effect::Over, job_effect::Moved>;
using JobEffects = std::vector<JobEffect>;

inline Duration seconds(uint64_t count) { return Duration::seconds(static_cast<int64_t>(count)); }

struct JobBook {
  JobBook(JobSpec of_plan, JobRules with, JobRecord begun)
      : spec(std::move(of_plan)), rules(with), record(std::move(begun)) {}
  JobBook(const JobBook&) = delete;
  JobBook& operator=(const JobBook&) = delete;

  JobSpec spec;
  JobRules rules;
  JobRecord record;

  bool owned = false;
  bool over = false;  // the last record is durable
  bool adopting = false;
  bool adopted = false;  // another owner had it before
  bool concluding = false;
  // Second zero of the run on this clock, once known.
  std::optional<Instant> zero;
  // Those of the owner before whose workers have not told this one what they run: one may have begun.
  std::set<AssignmentId> unsighted;
  bool may_have_begun(const AssignmentRecord& assignment) const {
    return is_live(assignment) && unsighted.contains(assignment.id);
  }
  std::map<AssignmentId, Instant> since;  // since when it is in its present state, on this clock
  // The numbers of each stream, and its iterations, in the ingest.
  std::map<AssignmentId, uint64_t> applied;
  std::map<AssignmentId, plan::Iterated> iterated;
  // Ended in the record that a new owner took, and live again until the ingest has the rest of its seconds.
  std::set<AssignmentId> had_ended;
  // The losses that the last entry of a full list stands for. A new owner knows only that entry.
  struct MergedLoss {
    std::optional<uint16_t> workflow;  // nothing: of any
    Duration from;
    Duration to;
    double ratio = 0;
  };
  static constexpr std::size_t kMaxMerged = 1'000;
  std::vector<MergedLoss> merged;
  // What a new owner has written by a wall clock: the times of the newest events, and the rests of workflows that
  // ended.
  struct EarlyRest {
    Instant at;
    uint16_t workflow = 0;
    std::optional<Duration> from;  // by that clock; nothing: the workflow had not begun, as far as was known
  };
  std::vector<Instant> early_events;
  std::vector<EarlyRest> early_rests;

  // --- the assignments and the workflows
  const AssignmentRecord* find(AssignmentId assignment) const;
  AssignmentRecord* find(AssignmentId assignment) {
    return const_cast<AssignmentRecord*>(std::as_const(*this).find(assignment));
  }
  bool has_live(uint16_t workflow) const;
  // The parts that each worker runs, or is to run: of one workflow, or of all. Valid until an assignment is added.
  std::map<std::string_view, uint32_t> parts_by_worker(std::optional<uint16_t> workflow = std::nullopt) const;
  // The assignments that take over parts of this one.
  std::vector<AssignmentId> followers_of(AssignmentId from) const;
  // Parts without an assignment.
  std::vector<uint32_t> gaps(uint16_t workflow) const;
  // It is a follower, and the assignment before it has not announced its hand-over.
  bool is_spare(const AssignmentRecord& assignment) const;
  // What the ingest does with a second of an assignment.
  enum class Hearing : uint8_t {
    kUnknown,  // it has no stream
    kCounts,
    kWaits,   // until its owner of that second is certain
    kExcess,  // a follower whose predecessor goes on
  };
  Hearing hearing(AssignmentId assignment, uint64_t second) const;
  // Until then an assignment that handed over runs some of its parts, or one that is gone has reported them.
  Instant runs_elsewhere_until(const AssignmentRecord& assignment) const;
  // It has ended, and the ingest has all its seconds.
  bool has_all_of(const AssignmentRecord& assignment) const;
  // It has not begun, and its group is not being assigned.
  bool waits(uint16_t workflow) const;
  bool is_active(uint16_t workflow) const { return !waits(workflow) && !is_final(record.workflows[workflow].state); }
  bool any_active() const {
    for (uint16_t w = 0; w < spec.size(); ++w) {
      if (is_active(w)) return true;
    }
    return false;
  }
  bool all_ended() const {
    return std::ranges::all_of(record.workflows, [](const WorkflowRecord& one) { return is_final(one.state); });
  }
  // It ends, or does not begin, because the job is stopped.
  bool is_stopped(uint16_t workflow) const { return record.stop && (record.stop->all || !spec[workflow].is_teardown); }
  // Its planned end has come: no part of it begins any more.
  bool is_past(Instant now, uint16_t workflow) const;
  plan::WorkflowProgress progress(uint16_t workflow) const;
  // The time on this clock at which the workflow's clock began.
  Instant clock_of(uint16_t workflow) const;
  Instant moment(uint64_t second) const { return *zero + seconds(second); }
  Duration elapsed(Instant now) const { return zero && now > *zero ? now - *zero : Duration::zero(); }
  // The end of the last assignment that has ended.
  Instant end_of_last() const;
  // Since the start of the run.
  Duration planned_end(uint16_t workflow) const {
    return seconds(record.workflows[workflow].base_second) + spec[workflow].length;
  }
  // When its owner stopped it, or its end is known; at the latest its hand-over, and the planned end of its workflow.
  // Of a workflow that has ended early: where its rest begins.
  Duration stopped_at(const AssignmentRecord& assignment);
  // The workers have told a new owner the clock of the run, or it waits for them no more: early_events and early_rests
  // get their times by that clock. No event is after now, or before the one before it: an owner may have died before it
  // knew that clock.
  void settle_clock(Instant now);

  // --- losses
  // The iterations that have not begun, of a part that is still to run.
  uint64_t iterations_of(uint16_t workflow, uint32_t part) const;
  // By the clock of the run: the load of an assignment up to then is in the ingest. In the first second of a stream,
  // the time before it began counts as idle too: a loss is then named too early, by less than a second.
  Duration reported_until(const AssignmentRecord& assignment) const;
  // Until when an assignment that ends or is lost now may have begun any, and whether it has reported all of them.
  Duration ran_until(Instant now, const AssignmentRecord& assignment) const;
  bool has_told_all(const AssignmentRecord& assignment) const {
    return has_all_of(assignment) && !lost_its_process(assignment);
  }
  // The rows that an assignment may have taken by then, and those that the ones before it may have taken.
  plan::RowPoint rows_by(const AssignmentRecord& assignment, Duration by) const;
  plan::RowPoint rows_before(Instant now, const AssignmentRecord& assignment) const;
  // The number of its parts that another assignment continues.
  uint32_t succeeded(const AssignmentRecord& assignment) const;
  void add_loss(uint16_t workflow, const std::string& how, uint32_t parts, Duration from, Duration to);
  // Records as lost the time of these parts from the loss of their last assignment (or from the workflow's begin, if
  // none is known to have begun) until `until`. A part that runs once begins whenever a worker runs it; for counted
  // iterations time is no loss: lose_iterations() has recorded them. What was lost before `after` is in the record.
  void write_losses(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until, Duration after = {});
  // No worker will run these parts any more.
  void lose_gaps(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until);
  void lose_iterations(Instant now, AssignmentRecord& assignment);
  // The workflow has ended early, while the run goes on: it is missing from then on, and those of its parts that nobody
  // runs are missing since they were lost. Iterations that lost workers left count as its rest.
  void lose_rest(Instant now, uint16_t workflow);
  // Its rest, of all parts that have not ended at another time; nullptr: the record names none.
  plan::Loss* rest_of(uint16_t workflow);
  // Its rest begins at another time than the record says.
  void move_rest(uint16_t workflow, Duration before, Duration from);
  // An assignment of a workflow that has ended early was measured until then: the order to stop it may have come late,
  // and the owner that gave it may have had a wrong clock. Its parts are missing from then on.
  void fit_rest(const AssignmentRecord& assignment, Duration measured);
  void follow_ingest(Instant now);

  // --- witnesses
  // A quorum has the present ones: workers may learn them, because each later owner knows them, too.
  bool may_tell_witnesses() const { return kept_revision >= record.witnesses_since; }
  std::vector<Witness> all_witnesses() const;
  void set_witnesses(std::vector<Witness> next);

  // --- changes: flush() has each one kept
  void become(JobState to, std::string why, JobEffects& out);
  void become(uint16_t workflow, WorkflowState to, std::string why, JobEffects& out);
  void skip_dependents(JobEffects& out);
  void fail_workflow(Instant now, uint16_t workflow, WorkflowState to, const std::string& why, JobEffects& out);
  void stop_assignments(Instant now, uint16_t workflow, StopHow how, const std::string& why, JobEffects& out);
  void set(Instant now, AssignmentRecord& assignment, AssignmentState state);
  void add_event(Instant now, std::string kind, std::string detail);
  bool changed = false;                    // since the last flush()
  std::vector<JobEffect> to_hold;          // until the change behind them is kept
  std::vector<AssignmentId> to_take_over;  // until the change behind them is kept
  void flush(JobEffects& out);
  // Waits until this revision is kept.
  struct Held {
    uint64_t revision;
    JobEffect effect;
  };
  std::vector<Held> held;
  uint64_t kept_revision = 0;
  void kept(Instant now, uint64_t revision, JobEffects& out);

  // What the wall clock said.
  WallTime wall_now;
  Instant wall_at;
  WallTime wall(Instant now) const { return {wall_now.unix_ns + (now - wall_at).ns()}; }
};

}  // namespace bellwether::dispatch
