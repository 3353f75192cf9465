// One job in the hands of its owner: which worker runs which part of which workflow, and what follows when one of them
// refuses, dies or comes back. A kernel without input and output: what happened and the time come in, effects go out.
//
// What must survive the owner is in the sheet. Offers, and the end, are held back until the change that they depend on
// has been accepted by a quorum (kept()). So are stops of what has begun: what stops for a reason that no later owner
// knows of is a worker that left, whose parts go on elsewhere. Begins are not: what was ready may begin, and who takes
// over asks the workers what has.
//
//   workflows that depend on nothing unfinished form a group; its parts are spread over the workers' cores
//   → offered to the workers → all ready → all begin at one instant → all ended, and counted → the next group
//
// When a worker dies, its parts are offered to others, who go on from there; what was not measured meanwhile is written
// down as a loss. Another owner begins with the sheet and asks the workers, who know what runs.
//
// When a worker leaves, or parts are spread onto one that came, shares that run are handed over without a gap
// (job_moves.cc):
//
//   those that follow are prepared → the second at which they begin is in the sheet, and kept → each has said that it
//   will take over → the share that runs is asked to hand over, and says that it will
//
// That word of its worker decides. Before it everything may be called off, and the share goes on.
//
// Times are of the owner's monotonic clock. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/base/prng.h"
#include "core/base/result.h"
#include "core/resilience/extension.h"
#include "jobs/dispatch/job_parts.h"
#include "jobs/dispatch/job_sheet.h"

namespace bellwether::dispatch {

struct ExtendLetter;
struct MoreTime;

// A worker, as a manager sees it.
struct WorkerSight {
  std::string name;
  uint64_t life = 0;
  uint32_t cores = 0;
  uint32_t free = 0;  // nobody, as far as this manager knows, has asked for them
  bool takes_work = false;
  bool healthy = true;  // those that are not get work when there is no other way
  bool leaves = false;  // soon: what it runs is to be handed over
  bool sought = false;  // a job waits for its free cores
  bool held = false;    // it would take work, were it not for a share that stands still: that will end
};

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

// How a worker answers an offer.
enum class OfferAnswer : uint8_t {
  kReady,
  kBusy,    // its cores are in use: later, or somebody else
  kNotNow,  // it does not want it, or was not reached: somebody else is to be found
  kBroken,  // the scenario cannot be prepared, by anybody
};

class Job {
 public:
  // As they are before anything has happened.
  static std::vector<WorkflowSheet> new_workflows(const JobSpec& spec);
  // A new one: the sheet has an id, a name, a bundle. REQUIRES as many workflows in the spec as the plan has.
  Job(JobSpec spec, JobRules rules, JobSheet sheet, Prng prng);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Before each of the following when the wall clock matters to the reader of a report: what it is at `now`.
  void set_wall(Instant now, WallTime wall) { wall_now_ = wall, wall_at_ = now; }

  // The job is owned, and new: the sheet is to be kept, and workers to be found.
  void begin(Instant now, JobEffects& out);
  // The job is owned, and was another owner's. `ago`: how long ago the run started by the wall clock, for when no
  // worker is left who knows it. `applied`: what the account has of each stream, which may be less than the sheet
  // says: then a share that had ended is live again, until the rest has come. workers_to_ask() says whom sighted() must
  // come from.
  void adopt(Instant now, Duration ago, std::map<ShareId, uint64_t> applied, JobEffects& out);
  // Before adopt(): the values between workflows, as a quorum has them.
  void restore(plan::Values context);
  std::vector<std::string> workers_to_ask() const { return {asking_.begin(), asking_.end()}; }

  // What the register's quorum has accepted.
  void kept(Instant now, uint64_t revision, JobEffects& out);
  void context_kept(Instant now, uint64_t version, JobEffects& out);
  // All workers that there are.
  void pool(Instant now, std::vector<WorkerSight> workers, JobEffects& out);
  void offered(Instant now, ShareId share, OfferAnswer answer, const std::string& why, JobEffects& out);
  // The worker does not know the share (any more), or was told to begin in vain.
  void not_begun(Instant now, ShareId share, const std::string& why, JobEffects& out);
  // It will take over.
  void taken_over(Instant now, ShareId share, JobEffects& out);
  // Its worker says that it hands over, or has handed over, at this second of the run.
  void handed_over(Instant now, ShareId share, uint64_t until, JobEffects& out);
  // It goes on, as before.
  void kept_on(Instant now, ShareId share, const std::string& why, JobEffects& out);
  // What the account has of its iterations. Of all streams before adopt(), and with each applied().
  void iterated(ShareId share, plan::Iterated told) { iterated_[share] = told; }
  // The account has all numbers of its stream up to this one.
  void applied(Instant now, ShareId share, uint64_t number, JobEffects& out);
  void ended(Instant now, ShareId share, const ShareEnd& end, JobEffects& out);
  // What a worker says it has of this job, when it was asked by a new owner.
  void sighted(Instant now, const std::string& worker, uint64_t life, const std::vector<ShareSight>& shares,
               JobEffects& out);
  // It is dead, or its process is another one now. `life` 0: whichever it was.
  void worker_gone(Instant now, const std::string& worker, uint64_t life, const std::string& why, JobEffects& out);
  // Its worker is there, and does nothing of what the share lets it do: it goes on elsewhere, as after a death.
  void evicted(Instant now, ShareId share, const std::string& why, JobEffects& out);
  // Everything, or only these workflows (of a cancellation).
  void stop(Instant now, const JobStop& stop, const std::set<uint16_t>& workflows, JobEffects& out);
  // Gives a workflow that is controlled from outside so many users from now on; with no name, the only such one.
  // kNotFound: it is none, kInvalid: they are too many, or several could be meant, kClosed: it has ended.
  Status scale(Instant now, const std::string& workflow, uint32_t vus, const std::string& by, JobEffects& out);
  // A worker asks for more time for a share. `suspect`: others doubt that it lives.
  MoreTime more_time(Instant now, const ExtendLetter& letter, bool suspect, JobEffects& out);
  void concluded(Instant now, JobEffects& out);
  // For the report.
  void note(Instant now, std::string kind, std::string detail, JobEffects& out);
  void tick(Instant now, JobEffects& out);
  Instant wake() const;

  const JobSheet& sheet() const { return sheet_; }
  const JobSpec& spec() const { return spec_; }
  const JobRules& rules() const { return rules_; }
  const plan::Values& context() const { return context_; }
  // Its last sheet is durable.
  bool over() const { return over_; }
  // It waits for cores: no group of it is being handed out.
  bool queued() const { return sheet_.state == JobState::kQueued; }
  const ShareSheet* find(ShareId share) const { return parts_.find(share); }
  // It has not said yet what it runs.
  bool asks(const std::string& worker) const { return asking_.contains(worker); }
  // What becomes of what a share tells of a second of the run.
  enum class Hearing : uint8_t {
    kUnknown,  // it has no stream
    kCounts,
    kWaits,   // until it is certain who runs its parts in that second
    kExcess,  // it was to follow another one, which goes on
  };
  Hearing hearing(ShareId share, uint64_t second) const;
  // It is to take over, and the share that it follows has not said yet that it hands over.
  bool is_spare(const ShareSheet& share) const;
  // Second zero of the run on this clock, once that is known.
  std::optional<Instant> zero() const { return zero_; }
  Duration elapsed(Instant now) const;
  // The order for a share, to be sent to its worker under this fence.
  ShareOrder order(ShareId share, JobFence fence) const;

 private:
  struct Held {
    uint64_t revision;
    JobEffect effect;
  };

  // --- job.cc: the life of the job
  void advance(Instant now, JobEffects& out);
  void adopted(Instant now, JobEffects& out);
  void begin_group(Instant now, JobEffects& out);
  void conclude(Instant now, JobEffects& out);
  void judge(Instant now, uint16_t workflow, JobEffects& out);
  void skip_dependents(JobEffects& out);
  void become(JobState to, std::string why, JobEffects& out);
  void become(uint16_t workflow, WorkflowState to, std::string why, JobEffects& out);
  JobState outcome() const;
  std::string what_runs() const;
  void flush(JobEffects& out);
  WallTime wall(Instant now) const { return {wall_now_.unix_ns + (now - wall_at_).ns()}; }
  void add_event(Instant now, std::string kind, std::string detail);

  // --- job_place.cc: who gets what
  // It is in nobody's hands: not begun, and not being handed out.
  bool waits(uint16_t workflow) const;
  bool is_active(uint16_t workflow) const { return !waits(workflow) && !is_final(sheet_.workflows[workflow].state); }
  std::vector<uint16_t> ready_workflows() const;
  void plan_group(Instant now, JobEffects& out);
  void fill_gaps(Instant now, JobEffects& out);
  bool place(Instant now, uint16_t workflow, const std::vector<uint32_t>& parts, bool squeeze, ShareId follows = {});
  void offer(Instant now, uint16_t workflow, const WorkerSight& worker, PartRange parts, uint32_t cores, bool squeeze,
             ShareId follows = {});
  void take_group_back(Instant now, const std::string& why, bool counts, JobEffects& out);
  bool usable(Instant now, const WorkerSight& worker) const;
  void exclude(Instant now, const ShareSheet& share);
  void set_aside(const std::string& worker);
  bool hopeless(Instant now, uint16_t workflow) const;
  bool is_past(Instant now, uint16_t workflow) const;

  // --- job_place.cc, too: what is handed from one layer to the next
  void hear_notes(Instant now, const std::vector<std::string>& notes);
  void hear_findings(Instant now, const ShareSheet& share, const std::vector<plan::Finding>& findings);
  void hear_values(Instant now, const ShareSheet& share, const std::vector<plan::Provided>& provided, JobEffects& out);
  bool is_awaited(uint16_t workflow) const;
  bool pass_border(Instant now, JobEffects& out);
  Instant end_of_last() const;
  plan::Standing standing(uint16_t workflow) const;

  // --- job_shares.cc: what becomes of shares
  void lose(Instant now, ShareSheet& share, const std::string& why, JobEffects& out);
  void finish(Instant now, ShareSheet& share, JobEffects& out);
  void fail_workflow(Instant now, uint16_t workflow, WorkflowState to, const std::string& why, JobEffects& out);
  void stop_shares(Instant now, uint16_t workflow, StopHow how, const std::string& why, JobEffects& out);
  void begin_share(Instant now, ShareSheet& share, JobEffects& out);

  // --- job_shares.cc, too: what was not measured
  void lose_iterations(Instant now, ShareSheet& share);
  void lose_rest(Instant now, uint16_t workflow, const std::string& how);
  void follow_account(Instant now);

  // --- job_time.cc: who tidies up after what was stopped, or has failed
  static std::string by_whom(const std::string& by);
  // False: it was told before.
  bool take_stop(Instant now, const JobStop& stop);
  // It ends, or does not begin any more, because the job is stopped.
  bool is_stopped(uint16_t workflow) const { return sheet_.stop && (sheet_.stop->all || !spec_[workflow].is_teardown); }
  // A share of it ended because it was told to.
  bool was_stopped(uint16_t workflow) const;
  bool awaits_teardown() const;
  // The job is stopped, nothing runs any more of what was to be, and what tidies up may.
  bool may_tear_down() const;
  void look_at_teardown(Instant now, JobEffects& out);
  Instant teardown_end() const;

  // --- what is asked of the sheet
  Instant clock_of(uint16_t workflow) const;
  Duration limit_of(const ShareSheet& share) const;
  bool has_all_of(const ShareSheet& share) const;
  void set(Instant now, ShareSheet& share, ShareState state);

  // --- job_moves.cc: parts of shares that run, for others to go on with
  void empty_workers(Instant now, JobEffects& out);
  void rebalance(Instant now);
  bool spread(Instant now, uint16_t workflow);
  void move_on(Instant now, JobEffects& out);
  void settle_move(Instant now, ShareSheet& from, JobEffects& out);
  void call_off(Instant now, ShareSheet& from, const std::string& why, JobEffects& out);
  // Its worker is dead before it has said anything: those that follow it go on, as far as they can.
  void release_followers(Instant now, const ShareSheet& from, JobEffects& out);
  void promote(Instant now, ShareSheet& follower, JobEffects& out);
  bool is_leaving(const ShareSheet& share) const;
  bool is_moving() const;
  // Until then somebody who has handed over runs a part of it, or one that is gone has told of it.
  Instant runs_elsewhere_until(const ShareSheet& share) const;
  Instant told_until(const ShareSheet& gone) const;
  void begin_postponed(Instant now, JobEffects& out);
  // Of the run, on this clock.
  Instant moment(uint64_t second) const { return *zero_ + Duration::seconds(static_cast<int64_t>(second)); }
  Instant next_move() const;

  // --- job_time.cc, too: shares that run for longer than they may, and the timeout of all
  Duration time_of(const ShareSheet& share) const;  // that its worker gives it, with what was granted
  Instant overdue_at(const ShareSheet& share) const;
  void look_for_overdue(Instant now);
  // Of the whole job; never for one that is being stopped at once.
  Instant timeout_at() const;
  void look_at_timeout(Instant now, JobEffects& out);
  void end_paused(Instant now, JobEffects& out);
  // The timeout of one workflow: its workers keep to it, and the owner does where they do not.
  void time_out(Instant now, uint16_t workflow, JobEffects& out);
  Instant timeout_at(uint16_t workflow) const;

  JobSpec spec_;
  JobRules rules_;
  JobSheet sheet_;
  JobParts parts_{spec_, sheet_};
  Prng prng_;
  WallTime wall_now_;
  Instant wall_at_;
  bool owned_ = false;
  bool over_ = false;
  bool adopting_ = false;
  bool adopted_ = false;  // it was another owner's
  bool concluding_ = false;
  bool changed_ = false;  // since the last flush()
  std::vector<Held> held_;
  std::vector<JobEffect> to_hold_;     // until the change that they come of is kept
  std::vector<ShareId> to_take_over_;  // the same: they will be told to take over
  std::set<ShareId> taking_over_;      // they have said that they will
  std::set<ShareId> handing_over_;     // they were asked to, by this owner
  std::set<ShareId> not_moved_;        // nobody has room for them, and their workers were told so
  Instant rebalance_again_;
  std::vector<WorkerSight> pool_;
  std::map<std::pair<std::string, uint64_t>, Instant> excluded_;  // lives of workers that died or refused, until when
  std::optional<Instant> zero_;
  std::set<std::string> asking_;
  Instant asked_until_;
  std::optional<Instant> no_workers_since_;
  std::optional<Instant> group_again_;  // not before, after a group could not be handed out
  uint32_t group_attempts_ = 0;
  bool busy_ = false;                       // a worker of the group had no cores after all
  std::map<ShareId, Instant> share_since_;  // in its present state, here
  std::map<ShareId, uint64_t> applied_;
  std::map<ShareId, plan::Iterated> iterated_;  // by what the account has
  plan::Values context_;
  uint64_t context_kept_ = 0;            // version that a quorum has
  std::optional<Instant> border_since_;  // when the layer ended after which nothing could begin yet
  std::map<ShareId, resilience::ExtensionTracker> trackers_;  // of those whose worker has asked for more time
  std::set<ShareId> overdue_;                                 // that run on although their time is over
  std::map<uint16_t, Instant> gap_since_;                     // of workflows with parts that nobody runs
  std::optional<Instant> teardown_since_;                     // of a job that was stopped: its load has ended
};

}  // namespace bellwether::dispatch
