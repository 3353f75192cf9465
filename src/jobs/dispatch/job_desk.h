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
// (job_moves.h):
//
//   those that follow are prepared → the second at which they begin is in the sheet, and kept → each has said that it
//   will take over → the share that runs is asked to hand over, and says that it will
//
// That word of its worker decides. Before it everything may be called off, and the share goes on.
//
//   job_book.h    the sheet, and every change of it: the desk and all its parts read and write here
//   job_pool.h    who gets what
//   job_layers.h  what is handed from one layer of workflows to the next
//   job_moves.h   shares that run, handed over
//   job_time.h    overtime, timeouts, and the teardown of a job that is stopped
//
// Times are of the owner's monotonic clock. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/prng.h"
#include "core/base/result.h"
#include "jobs/dispatch/job_book.h"
#include "jobs/dispatch/job_layers.h"
#include "jobs/dispatch/job_moves.h"
#include "jobs/dispatch/job_pool.h"
#include "jobs/dispatch/job_time.h"

namespace bellwether::dispatch {

// How a worker answers an offer.
enum class OfferAnswer : uint8_t {
  kReady,
  kBusy,    // its cores are in use: later, or somebody else
  kNotNow,  // it does not want it, or was not reached: somebody else is to be found
  kBroken,  // the scenario cannot be prepared, by anybody
};

class JobDesk {
 public:
  // As they are before anything has happened.
  static std::vector<WorkflowSheet> new_workflows(const JobSpec& spec);
  // A new one: the sheet has an id, a name, a bundle. REQUIRES as many workflows in the spec as the plan has.
  JobDesk(JobSpec spec, JobRules rules, JobSheet sheet, Prng prng);
  JobDesk(const JobDesk&) = delete;
  JobDesk& operator=(const JobDesk&) = delete;

  // Before each of the following when the wall clock matters to the reader of a report: what it is at `now`.
  void set_wall(Instant now, WallTime wall) { book_.wall_now = wall, book_.wall_at = now; }

  // The job is owned, and new: the sheet is to be kept, and workers to be found.
  void begin(Instant now, JobEffects& out) {
    book_.owned = true;
    if (sheet_.state == JobState::kSubmitted) book_.become(JobState::kQueued, {}, out);
    book_.changed = true;
    advance(now, out);
  }
  // The job is owned, and was another owner's. `ago`: how long ago the run started by the wall clock, for when no
  // worker is left who knows it. `applied`: what the account has of each stream, which may be less than the sheet
  // says: then a share that had ended is live again, until the rest has come. workers_to_ask() says whom sighted() must
  // come from.
  void adopt(Instant now, Duration ago, std::map<ShareId, uint64_t> applied, JobEffects& out);
  // Before adopt(): the values between workflows, as a quorum has them.
  void restore(plan::Values context) { layers_.restore(std::move(context)); }
  std::vector<std::string> workers_to_ask() const { return {asking_.begin(), asking_.end()}; }

  // What the register's quorum has accepted.
  void kept(Instant now, uint64_t revision, JobEffects& out) { book_.kept(now, revision, out); }
  void context_kept(Instant now, uint64_t version, JobEffects& out) {
    layers_.kept(version);
    advance(now, out);
  }
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
  void iterated(ShareId share, plan::Iterated told) { book_.iterated[share] = told; }
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
  void note(Instant now, std::string kind, std::string detail, JobEffects& out) {
    book_.add_event(now, std::move(kind), std::move(detail));
    book_.flush(out);
  }
  void tick(Instant now, JobEffects& out);
  Instant wake() const;

  const JobSheet& sheet() const { return sheet_; }
  const JobSpec& spec() const { return spec_; }
  const JobRules& rules() const { return rules_; }
  const plan::Values& context() const { return layers_.context(); }
  // Its last sheet is durable.
  bool over() const { return book_.over; }
  // It waits for cores: no group of it is being handed out.
  bool queued() const { return sheet_.state == JobState::kQueued; }
  const ShareSheet* find(ShareId share) const { return book_.find(share); }
  // It has not said yet what it runs.
  bool asks(const std::string& worker) const { return asking_.contains(worker); }
  using Hearing = JobBook::Hearing;
  Hearing hearing(ShareId share, uint64_t second) const { return book_.hearing(share, second); }
  // It is to take over, and the share that it follows has not said yet that it hands over.
  bool is_spare(const ShareSheet& share) const { return book_.is_spare(share); }
  // Second zero of the run on this clock, once that is known.
  std::optional<Instant> zero() const { return book_.zero; }
  Duration elapsed(Instant now) const { return book_.elapsed(now); }
  // The order for a share, to be sent to its worker under this fence.
  ShareOrder order(ShareId share, JobFence fence) const;

 private:
  // --- job.cc: the life of the job
  void advance(Instant now, JobEffects& out);
  void adopted(Instant now, JobEffects& out);
  void begin_group(Instant now, JobEffects& out);
  void judge(Instant now, uint16_t workflow, JobEffects& out);
  void conclude(Instant now, JobEffects& out);
  JobState outcome() const;

  // --- job_shares.cc: who gets what, and what becomes of it
  std::vector<uint16_t> ready_workflows() const;
  void plan_group(Instant now, JobEffects& out);
  void take_group_back(Instant now, const std::string& why, bool counts, JobEffects& out);
  void fill_gaps(Instant now, JobEffects& out);
  bool hopeless(Instant now, uint16_t workflow) const;
  void begin_ready(Instant now, JobEffects& out);
  void begin_share(Instant now, ShareSheet& share, JobEffects& out);
  void lose(Instant now, ShareSheet& share, const std::string& why, JobEffects& out);
  void finish(Instant now, ShareSheet& share, JobEffects& out);

  JobBook book_;
  JobSheet& sheet_ = book_.sheet;
  const JobSpec& spec_ = book_.spec;
  const JobRules& rules_ = book_.rules;
  JobPool pool_;
  JobLayers layers_{book_};
  JobMoves moves_{book_, pool_};
  JobTime time_{book_};
  JobTeardown teardown_{book_};
  std::set<std::string> asking_;
  Instant asked_until_;
  std::optional<Instant> no_workers_since_;
  std::optional<Instant> group_again_;  // not before, after a group could not be handed out
  uint32_t group_attempts_ = 0;
  bool busy_ = false;                      // a worker of the group had no cores after all
  std::map<uint16_t, Instant> gap_since_;  // of workflows with parts that nobody runs
};

}  // namespace bellwether::dispatch
