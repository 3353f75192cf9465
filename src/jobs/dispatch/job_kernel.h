// The kernel of a job's coordinator: it assigns the parts of workflows to workers, and reacts when a worker refuses,
// dies or comes back. It has no input and no output: events and the time come in, effects go out.
//
// The job record holds all that must survive the owner. The kernel holds back offers, and the end, until a quorum has
// accepted the change that they depend on (kept()). It holds back stops of running assignments too: a later owner that
// does not know the reason assumes that the worker left, and continues the parts elsewhere. It does not hold back
// begins: a ready assignment may begin, and a new owner asks the workers which ones have.
//
//   workflows that depend on nothing unfinished form a group; its parts are spread over the workers' cores
//   → offered to the workers → all ready → all begin at one instant → all ended, and counted → the next group
//
// When a worker dies, other workers continue its parts; the record gets the loss: the time that was not measured. A new
// owner starts from the record and asks the workers for what runs.
//
// When a worker leaves, or parts are spread onto a worker that joined, running assignments hand over without a gap
// (job_pool.h):
//
//   followers are prepared → the record has the second at which they begin, and is kept → each has confirmed that it
//   will take over → the running assignment is asked to hand over, and confirms
//
// The last confirmation decides. Before it everything may be called off, and the running assignment goes on.
//
//   job_book.h    the job record, and every change of it: the kernel and all its parts read and write here
//   job_groups.h  which workflows begin together, and which parts wait for a worker
//   job_pool.h    assigns parts to workers; hand-overs of running assignments
//   job_layers.h  values from one layer of workflows for the next
//   load_fence.h  which workers get permits, whether a silent one may still run its parts, and who the witnesses are
//   job_time.h    overtime, timeouts, and the teardown of a stopped job
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
#include "jobs/dispatch/job_groups.h"
#include "jobs/dispatch/job_layers.h"
#include "jobs/dispatch/job_pool.h"
#include "jobs/dispatch/job_time.h"
#include "jobs/dispatch/load_fence.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::dispatch {

// The answer of a worker to an offer.
enum class OfferAnswer : uint8_t {
  kReady,
  kBusy,    // its cores are in use: try later, or another worker
  kNotNow,  // it refuses, or was not reached: find another worker
  kBroken,  // it cannot prepare the scenario, and no worker can unless some run it
};

class JobKernel {
 public:
  // In their first state.
  static std::vector<WorkflowRecord> new_workflows(const JobSpec& spec);
  // A new job: the record has an id, a name, a bundle. REQUIRES as many workflows in the spec as the plan has.
  JobKernel(JobSpec spec, JobRules rules, JobRecord record, Prng prng);
  JobKernel(const JobKernel&) = delete;
  JobKernel& operator=(const JobKernel&) = delete;

  // The wall clock at `now`. Call it before each of the following if reports show the time.
  void set_wall(Instant now, WallTime wall) { book_.wall_now = wall, book_.wall_at = now; }

  // The job has this owner, and is new: keep the record, and find workers.
  void begin(Instant now, JobEffects& out) {
    book_.owned = true;
    if (record_.state == JobState::kSubmitted) book_.become(JobState::kQueued, {}, out);
    book_.changed = true;
    advance(now, out);
  }
  // Adopts the job of another owner. `ago`: the time since the start of the run by the wall clock, for the case that no
  // worker that knows it is left. `applied`: the numbers of each stream in the ingest. They may be fewer than the
  // record says: then an ended assignment is live again until the rest has come. Each worker of workers_to_ask() must
  // send sighted().
  void adopt(Instant now, Duration ago, std::map<AssignmentId, uint64_t> applied, JobEffects& out);
  // Before adopt(): the values between workflows, as a quorum has them.
  void restore(plan::Values context) { layers_.restore(std::move(context)); }
  std::vector<std::string> workers_to_ask() const;

  // The register's quorum has accepted this revision.
  void kept(Instant now, uint64_t revision, JobEffects& out) { book_.kept(now, revision, out); }
  void context_kept(Instant now, uint64_t version, JobEffects& out) {
    layers_.kept(version);
    advance(now, out);
  }
  // The known workers have changed; `workers` are all of them.
  void workers_changed(Instant now, std::vector<WorkerSight> workers, JobEffects& out);
  void offered(Instant now, AssignmentId assignment, OfferAnswer answer, const std::string& why, JobEffects& out);
  // Its worker still fetches files for it, or waits for other workers that do.
  void preparing(Instant now, AssignmentId assignment) {
    const AssignmentRecord* const known = find(assignment);
    if (known == nullptr) return;
    const bool waits = known->state == AssignmentState::kOffered || known->state == AssignmentState::kReady;
    if (waits) book_.since[assignment] = now;
  }
  // The worker does not know the assignment (any more), or could not begin it.
  void not_begun(Instant now, AssignmentId assignment, const std::string& why, JobEffects& out);
  // It confirms that it will take over.
  void taken_over(Instant now, AssignmentId assignment, JobEffects& out);
  // Its worker confirms that it hands over, or has handed over, at this second of the run.
  void handed_over(Instant now, AssignmentId assignment, uint64_t until, JobEffects& out);
  // It does not hand over and goes on.
  void kept_on(Instant now, AssignmentId assignment, const std::string& why, JobEffects& out);
  // Its iterations in the ingest. For all streams before adopt(), and with each applied().
  void iterated(AssignmentId assignment, plan::Iterated told) { book_.iterated[assignment] = told; }
  // The ingest has all numbers of its stream up to this one.
  void applied(Instant now, AssignmentId assignment, uint64_t number, JobEffects& out);
  void ended(Instant now, AssignmentId assignment, const AssignmentEnd& end, JobEffects& out);
  // The answer of a worker to a new owner: its assignments of this job.
  void sighted(Instant now, const std::string& worker, uint64_t life, const std::vector<AssignmentSight>& assignments,
               JobEffects& out);
  // The process of this life has ended: nothing of it runs any more.
  void worker_gone(Instant now, const std::string& worker, uint64_t life, const std::string& why, JobEffects& out);
  // The members say that it is dead, which is no proof: what it may run moves when it holds no permit any more.
  void doubted(Instant now, const std::string& worker, const std::string& why, JobEffects& out);
  // A worker has reported. `number`: of this report. `answered`: the newest report whose answer the worker has
  // received. Returns the permit for the answer; nothing: the worker gets none. Permit::denied has those of `held` that
  // this life may not run. The caller sets Permit::fence.
  std::optional<Noted::Permit> permit(Instant now, const std::string& worker, uint64_t life,
                                      const std::vector<AssignmentId>& held, uint64_t number = 0,
                                      uint64_t answered = 0) {
    auto given = fence_.permit(now, worker, life, held, number, answered);
    for (const AssignmentId id : held) {
      if (given && (lost_early_.contains(id) || given_up_.contains(id))) given->denied.push_back(id);
    }
    return given;
  }
  // Its worker does not start it. Permits deny it from now on, and its parts move when the worker has dropped it.
  void give_up(AssignmentId assignment) { given_up_.insert(assignment); }
  // The answer of a witness to job_effect::Deny.
  void denied(Instant now, const Witness& silent, const Witness& witness, Duration rest, JobEffects& out);
  bool wants(const job_effect::Deny& denial) const { return fence_.wants(denial); }
  // All that may give permits, of which a silent worker may hold some.
  std::vector<Witness> all_witnesses() const { return book_.all_witnesses(); }
  // Its worker is alive, but the assignment makes no progress: its process is killed, and then it continues elsewhere.
  void evicted(Instant now, AssignmentId assignment, const std::string& why, JobEffects& out);
  // Stops the job. A cancellation may name workflows; then only these stop. Empty: all.
  void stop(Instant now, const JobStop& stop, const std::set<uint16_t>& workflows, JobEffects& out);
  // Sets the number of users of an externally controlled workflow; an empty name means the only such one. kNotFound: no
  // such workflow. kInvalid: too many users, or an ambiguous name. kClosed: it has ended.
  Status scale(Instant now, const std::string& workflow, uint32_t vus, const std::string& by, JobEffects& out);
  // A worker asks for more time for an assignment. `suspect`: others doubt that the worker lives.
  MoreTime more_time(Instant now, const ExtendMessage& message, bool suspect, JobEffects& out) {
    return time_.more_time(now, message, suspect, out);
  }
  void concluded(Instant now, JobEffects& out);
  // For the report.
  void note(Instant now, std::string kind, std::string detail, JobEffects& out) {
    book_.add_event(now, std::move(kind), std::move(detail));
    book_.flush(out);
  }
  void tick(Instant now, JobEffects& out);
  Instant wake() const;

  const JobRecord& record() const { return record_; }
  const JobSpec& spec() const { return spec_; }
  const JobRules& rules() const { return rules_; }
  const plan::Values& context() const { return layers_.context(); }
  // Its last record is durable.
  bool over() const { return book_.over; }
  // It waits for cores: no group of it is being assigned.
  bool queued() const { return record_.state == JobState::kQueued; }
  const AssignmentRecord* find(AssignmentId assignment) const { return book_.find(assignment); }
  // It has not yet reported what it runs, or when the run began.
  bool asks(const std::string& worker) const { return asking_.contains(worker) || asking_clock_.contains(worker); }
  using Hearing = JobBook::Hearing;
  Hearing hearing(AssignmentId assignment, uint64_t second) const { return book_.hearing(assignment, second); }
  bool is_spare(const AssignmentRecord& assignment) const { return book_.is_spare(assignment); }
  // Second zero of the run on this clock, once known.
  std::optional<Instant> zero() const { return book_.zero; }
  Duration elapsed(Instant now) const { return book_.elapsed(now); }
  // The order for an assignment, to send to its worker under this fence.
  AssignmentOrder order(AssignmentId assignment, JobFence fence) const;

 private:
  // --- job_kernel.cc: the life of the job
  void advance(Instant now, JobEffects& out);
  bool begin_group(Instant now, JobEffects& out);
  void begin_ready(Instant now, JobEffects& out);
  void judge(Instant now, uint16_t workflow, JobEffects& out);
  void conclude(Instant now, JobEffects& out);
  JobState outcome() const;

  // --- job_assignments.cc: assignments, and a new owner
  void adopted(Instant now, JobEffects& out);
  void begin_assignment(Instant now, AssignmentRecord& assignment, JobEffects& out);
  void lose(Instant now, AssignmentRecord& assignment, const std::string& why, JobEffects& out);
  // A new owner ends it, or takes its parts from it, in adopted().
  bool is_settled(const AssignmentRecord& assignment) const {
    return book_.adopting && (lost_early_.contains(assignment.id) || book_.has_all_of(assignment));
  }
  void finish(Instant now, AssignmentRecord& assignment, JobEffects& out);
  void lose_until_stop(const AssignmentRecord& assignment, Duration from);

  // --- job_kernel.cc: workers that are gone
  void look_at_fence(Instant now, JobEffects& out);
  // `life` 0: in any life.
  void lose_worker(Instant now, const std::string& worker, uint64_t life, const std::string& why, JobEffects& out);

  JobBook book_;
  JobRecord& record_ = book_.record;
  const JobSpec& spec_ = book_.spec;
  const JobRules& rules_ = book_.rules;
  JobPool pool_;
  JobLayers layers_{book_};
  JobGroups groups_{book_, pool_, layers_};
  JobMoves moves_{book_, pool_};
  JobTime time_{book_};
  JobTeardown teardown_{book_};
  LoadFence fence_{book_};
  std::set<std::string> asking_;
  // Workers that run nothing now but may know when the run began; one answer that says it is enough.
  std::set<std::string> asking_clock_;
  std::map<AssignmentId, std::string> lost_early_;  // before the clock of the run was certain, and why
  std::set<AssignmentId> given_up_;
  Instant adopted_at_;
  Instant asked_until_;
};

}  // namespace bellwether::dispatch
