// The sheet of a job in the hands of its owner: who runs which parts, what nobody ran or measured, and every change of
// it with what waits until that is kept. The losses in the sheet are written while the run goes on
// (docs/decisions/018-losses.md). What decides over a job (job_desk.h) reads and writes here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "jobs/dispatch/job_sheet.h"

namespace bellwether::dispatch {

namespace job_effect {
// Make sheet() durable, then say kept() with its revision. A newer one replaces an older one that waits.
struct Keep {
  uint64_t revision = 0;
};
// If it is still offered when this is carried out.
struct Offer {
  ShareId share;
};
// The workflow's clock begins, or began, at `clock`. Its stream is to be opened (jobs/account/account_book.h).
struct Begin {
  ShareId share;
  Instant clock;
  bool resumes = false;
};
// Tell it to take over from the share that it follows, when that hands over; then say taken_over() or not_begun().
struct TakeOver {
  ShareId share;
  Instant clock;
};
// Ask it to hand over at `until` of its sheet, again and again until it answers; then say handed_over() or kept_on().
struct HandOver {
  ShareId share;
};
// What it tells is counted from now on.
struct OpenStream {
  ShareId share;
};
// Its workflow has another number of users: tell it, again and again until it knows the one of the sheet.
struct Scale {
  ShareId share;
};
struct Stop {
  ShareId share;
  StopHow how = StopHow::kAtOnce;
  std::string why;
};
// Nothing that its stream tells from now on is counted.
struct CloseStream {
  ShareId share;
};
// All workflows have ended and all is counted: make the account safe, then say concluded().
struct Conclude {};
// Make context() durable, then say context_kept() with its version. A newer one replaces an older one that waits.
struct KeepContext {
  uint64_t version = 0;
};
// The last sheet is durable: the workers may forget the job.
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
                 job_effect::OpenStream, job_effect::Scale, job_effect::Stop, job_effect::CloseStream,
                 job_effect::Conclude, job_effect::KeepContext, job_effect::Over, job_effect::Moved>;
using JobEffects = std::vector<JobEffect>;

inline Duration seconds(uint64_t count) { return Duration::seconds(static_cast<int64_t>(count)); }

struct JobBook {
  JobBook(JobSpec of_plan, JobRules with, JobSheet begun)
      : spec(std::move(of_plan)), rules(with), sheet(std::move(begun)) {}
  JobBook(const JobBook&) = delete;
  JobBook& operator=(const JobBook&) = delete;

  JobSpec spec;
  JobRules rules;
  JobSheet sheet;

  bool owned = false;
  bool over = false;  // the last sheet is durable
  bool adopting = false;
  bool adopted = false;  // it was another owner's
  bool concluding = false;
  // Second zero of the run on this clock, once that is known.
  std::optional<Instant> zero;
  std::map<ShareId, Instant> since;  // in its present state, here
  // What the account has of each stream, and of its iterations.
  std::map<ShareId, uint64_t> applied;
  std::map<ShareId, plan::Iterated> iterated;

  // --- the shares and the workflows
  const ShareSheet* find(ShareId share) const;
  ShareSheet* find(ShareId share) { return const_cast<ShareSheet*>(std::as_const(*this).find(share)); }
  bool has_live(uint16_t workflow) const;
  uint32_t parts_on(const std::string& worker) const;
  // Those that are to go on with parts of this share.
  std::vector<ShareId> followers_of(ShareId from) const;
  // Parts that no share stands for.
  std::vector<uint32_t> gaps(uint16_t workflow) const;
  // It is to take over, and the share that it follows has not said yet that it hands over.
  bool is_spare(const ShareSheet& share) const;
  // What becomes of what a share tells of a second of the run.
  enum class Hearing : uint8_t {
    kUnknown,  // it has no stream
    kCounts,
    kWaits,   // until it is certain who runs its parts in that second
    kExcess,  // it was to follow another one, which goes on
  };
  Hearing hearing(ShareId share, uint64_t second) const;
  // Until then somebody who has handed over runs a part of it, or one that is gone has told of it.
  Instant runs_elsewhere_until(const ShareSheet& share) const;
  Instant told_until(const ShareSheet& gone) const;
  // It has ended, and all that it measured is in the account.
  bool has_all_of(const ShareSheet& share) const;
  // It is in nobody's hands: not begun, and not being handed out.
  bool waits(uint16_t workflow) const;
  bool is_active(uint16_t workflow) const { return !waits(workflow) && !is_final(sheet.workflows[workflow].state); }
  // It ends, or does not begin any more, because the job is stopped.
  bool is_stopped(uint16_t workflow) const { return sheet.stop && (sheet.stop->all || !spec[workflow].is_teardown); }
  // Its planned end has come: nothing of it begins any more.
  bool is_past(Instant now, uint16_t workflow) const;
  plan::Standing standing(uint16_t workflow) const;
  // When the clock of a workflow, a second of the run, began on this clock.
  Instant clock_of(uint16_t workflow) const;
  Instant moment(uint64_t second) const { return *zero + seconds(second); }
  Duration elapsed(Instant now) const;
  // When the last of what has ended did.
  Instant end_of_last() const;

  // --- what was not measured
  // How often whoever ran this part was lost. One that left, or was cut off, was not.
  uint32_t deaths(uint16_t workflow, uint32_t part) const;
  // That nobody has begun, of a part which somebody is to run.
  uint64_t iterations_of(uint16_t workflow, uint32_t part) const;
  // How many of its parts another share has gone on with.
  uint32_t succeeded(const ShareSheet& share) const;
  static std::string how_lost(const ShareSheet& share);
  void add_loss(uint16_t workflow, const std::string& how, uint32_t parts, Duration from, Duration to);
  // What nobody measured of these parts from when their last share was lost until now; from the workflow's begin where
  // no share of theirs is known to have begun. What runs once begins whenever somebody runs it, and of iterations time
  // is no loss: lose_iterations() has told of those.
  void write_losses(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until);
  // Nobody will run these parts any more.
  void lose_gaps(uint16_t workflow, const std::vector<uint32_t>& parts, Duration until);
  void lose_iterations(Instant now, ShareSheet& share);
  void lose_rest(Instant now, uint16_t workflow, const std::string& how);
  void follow_account(Instant now);

  // --- what changes: each change is to be kept, by the next flush()
  void become(JobState to, std::string why, JobEffects& out);
  void become(uint16_t workflow, WorkflowState to, std::string why, JobEffects& out);
  void skip_dependents(JobEffects& out);
  void fail_workflow(Instant now, uint16_t workflow, WorkflowState to, const std::string& why, JobEffects& out);
  void stop_shares(Instant now, uint16_t workflow, StopHow how, const std::string& why, JobEffects& out);
  void set(Instant now, ShareSheet& share, ShareState state);
  void add_event(Instant now, std::string kind, std::string detail);
  bool changed = false;               // since the last flush()
  std::vector<JobEffect> to_hold;     // until the change that they come of is kept
  std::vector<ShareId> to_take_over;  // the same: they will be told to take over
  void flush(JobEffects& out);
  // Waits until this revision is kept.
  struct Held {
    uint64_t revision;
    JobEffect effect;
  };
  std::vector<Held> held;
  void kept(Instant now, uint64_t revision, JobEffects& out);

  // What the wall clock said.
  WallTime wall_now;
  Instant wall_at;
  WallTime wall(Instant now) const { return {wall_now.unix_ns + (now - wall_at).ns()}; }
};

}  // namespace bellwether::dispatch
