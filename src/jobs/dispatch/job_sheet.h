// All that is known of a job, as its register keeps it: written by its owner, accepted by a quorum before anybody acts
// on it, and enough for another manager to go on. What was measured is kept elsewhere (jobs/account/run_account.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bellwether/job_states.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/resilience/extension.h"
#include "jobs/dispatch/share.h"
#include "load/plan/finding.h"
#include "load/plan/plan.h"
#include "load/plan/provision.h"
#include "load/plan/sequence.h"

namespace bellwether::dispatch {

// What a plan means for the one who hands it out: which workflows there are, what they wait for, how long they take.
struct WorkflowSpec : plan::Links {
  plan::Priority priority = plan::Priority::kAuto;
  bool is_test = true;
  uint32_t vus = 1;  // the most at once
  Duration length;   // of its clock, to its planned end; zero: it runs once, for as long as that takes
  Duration graceful_stop;
  // It does a number of iterations: what others go on with when a worker is lost is what is left of them.
  std::optional<plan::Iterations> counted;
  // How many users it begins with, where somebody says that while it runs; then `vus` is the most.
  std::optional<uint32_t> told_vus;
  bool endless = false;    // it runs until it is stopped, and has then done what it was to do
  bool rebalance = false;  // its parts spread onto workers that come while it runs
  plan::OnOvertime on_overtime = plan::OnOvertime::kKill;
  std::optional<Duration> timeout;  // of its clock, from its begin: then its workers end it at once
};
using JobSpec = std::vector<WorkflowSpec>;

JobSpec spec_of(const plan::Plan& plan);

// What is the same for all jobs of a cluster, but for the timeout.
struct JobRules {
  Duration worker_wait = Duration::seconds(60);       // with no worker at all, a job fails after so long
  Duration dispatch_limit = Duration::seconds(300);   // a share that nobody can be found for fails its workflow then
  uint32_t dispatch_attempts = 5;                     // of a group of workflows, before they fail
  Duration dispatch_pause = Duration::millis(500);    // after the first of them; it doubles with each
  Duration exclusion = Duration::seconds(10);         // of a worker that died, refused, or was not reached
  uint32_t retries_most = 3;                          // of a part, because its workers died
  Duration offer_limit = Duration::seconds(15);       // for the answer to an offer
  Duration adopt_limit = Duration::seconds(5);        // a new owner waits so long for what workers say
  Duration head_start = Duration::millis(25);         // from the last share's being ready to the begin of all
  Duration layer_sync_limit = Duration::seconds(30);  // for a quorum, before what depends on others may begin
  Duration hand_over_lead = Duration::millis(1500);   // from when all are ready to when a share hands over, at least
  Duration hand_over_least = Duration::millis(300);   // before that, all that take over must have said that they will
  Duration rebalance_least = Duration::seconds(5);    // before the end of a workflow nothing is spread any more
  Duration rebalance_pause = Duration::seconds(10);   // after a try that came to nothing
  Duration kill_grace = Duration::seconds(5);
  Duration isolation_limit = Duration::seconds(60);
  Duration overtime = Duration::seconds(60);        // beyond the planned end and graceful_stop
  Duration result_limit = Duration::seconds(30);    // beyond that, for the result of a worker that does not die
  std::optional<Duration> timeout;                  // of this job, from the start of its run: then it is ended at once
  resilience::ExtensionSettings extensions;         // of a share beyond that all, when its worker asks
  Duration teardown_limit = Duration::minutes(10);  // of a job that is stopped, from the end of its load
};

// The lives of a job and of its workflows: which state may follow which. A move that is not in the tables is refused,
// so nothing that comes late or twice can bring back what has ended.
//
//   job        submitted → queued → dispatching → running → completing → completed, partial, failed
//   workflow   pending → assigned → running → completed, failed
//
// and on the way of both: cancelling, cancelled, timed out. Cancelling wins over a completion that is not recorded yet,
// and loses against one that is.

using client::JobState;
using client::WorkflowState;
inline constexpr std::size_t kJobStates = 11;
inline constexpr std::size_t kWorkflowStates = 9;

// The names that to_string() gives; nothing for others.
std::optional<JobState> job_state_named(std::string_view name);
std::optional<WorkflowState> workflow_state_named(std::string_view name);

bool may_become(JobState from, JobState to);
bool may_become(WorkflowState from, WorkflowState to);
inline bool is_final(JobState state) { return has_ended(state); }
inline bool is_final(WorkflowState state) { return has_ended(state); }

// A state that only moves where it may.
template <class State>
class Life {
 public:
  explicit Life(State state = State()) : state_(state) {}
  State state() const { return state_; }
  bool over() const { return is_final(state_); }

  // kInvalid when it may not, with both states; nothing is changed then. Becoming what it is already is no move.
  Status become(State to) {
    if (to == state_) return {};
    if (!may_become(state_, to)) {
      return fail(Errc::kInvalid,
                  "what is " + std::string(to_string(state_)) + " does not become " + std::string(to_string(to)));
    }
    state_ = to;
    return {};
  }

 private:
  State state_;
};

inline constexpr std::size_t kMostWorkflows = 1'000;
inline constexpr std::size_t kMostShares = 16'384;  // of one job, those that have ended included
inline constexpr std::size_t kMostJobEvents = 200;  // the newest are dropped, and counted
inline constexpr std::size_t kMostLosses = 200;     // then neighbours are merged
inline constexpr std::size_t kMostTextBytes = 200;  // of a detail, a cause, a name

struct WorkflowSheet {
  WorkflowState state = WorkflowState::kPending;
  std::string why;           // it is in this state, where that is not plain
  uint32_t parts = 0;        // into which it was cut; 0: not yet
  uint32_t retries = 0;      // shares that had to be given to somebody else
  uint64_t base_second = 0;  // of the run: where its clock begins, once it has begun
  bool begun = false;
  uint32_t vus = 0;  // that it is to have now, where somebody says that while it runs
  bool operator==(const WorkflowSheet&) const = default;
};

// A share, as its owner sees it.
enum class ShareState : uint8_t {
  kOffered,
  kReady,
  kRunning,
  kStopping,  // was told to
  kEnded,     // its worker said how, and all that it measured is in the account
  kGone,      // its worker refused it, or is not there any more
};
inline constexpr std::size_t kShareStates = 6;
std::string_view to_string(ShareState state);

struct ShareSheet {
  ShareId id;
  uint16_t workflow = 0;
  std::string worker;  // its name
  uint64_t life = 0;   // of the worker: another one after each start of its process
  PartRange parts;
  uint32_t cores = 0;
  bool squeeze = false;
  ShareState state = ShareState::kOffered;
  uint64_t from = 0;     // the second of the run at which its stream begins
  bool streams = false;  // it has begun: there is such a stream
  Duration lost_from;    // of one that is gone: since the start of the run, from when on its parts did not run
  std::optional<ShareEnd> end;
  ShareId follows;           // it is to go on, or goes on, with parts of this one, which hands them over; 0: of none
  uint64_t until = 0;        // second of the run from which on those that follow it run its parts; 0: not settled
  bool handed_over = false;  // and its worker has said that it ends then
  uint32_t extensions = 0;   // how often its worker was given more time for it
  Duration extended;         // and how much
  uint64_t iterations = 0;   // that it may begin, of a workflow which counts them
  uint64_t left = 0;         // and of these, when it is gone, those that are for others to begin
  bool operator==(const ShareSheet&) const = default;
};

// Somebody runs it, or is to.
inline bool is_live(const ShareSheet& share) { return share.state < ShareState::kEnded; }

struct JobEvent {
  Duration at;         // since the start of the run; zero before it
  std::string kind;    // a stable word: "worker_lost"
  std::string detail;  // for people
  bool operator==(const JobEvent&) const = default;
};

// Why a job does not run to its planned end.
struct JobStop {
  // kPlanned: it runs until it is stopped.
  enum class Cause : uint8_t { kCancelled, kThreshold, kOnError, kTimeout, kPlanned };
  Cause cause = Cause::kCancelled;
  StopHow how = StopHow::kAtOnce;
  std::string by;       // who, of a cancellation
  std::string why;      // in words
  uint64_t number = 0;  // of the cancellation, as its client drew it: what is told again is no second one
  bool all = false;     // the teardown does not follow, or is stopped with the rest
  bool operator==(const JobStop&) const = default;
};
inline constexpr std::size_t kStopCauses = 5;

struct JobSheet {
  std::string id;
  std::string name;    // of the scenario
  std::string by;      // who submitted it
  std::string bundle;  // hash of what it is made from
  uint64_t seed = 0;
  WallTime submitted;
  uint64_t revision = 0;  // of this sheet; grows with each change
  JobState state = JobState::kSubmitted;
  std::string why;   // it is in this state
  WallTime started;  // of the run; 0: not yet
  Duration elapsed;  // of the run, once it has ended
  std::optional<JobStop> stop;
  uint32_t last_share = 0;
  // How many workflows had ended at the last border of layers that a quorum has let the job pass.
  uint64_t context_version = 0;
  std::vector<WorkflowSheet> workflows;  // in the order of the plan
  std::vector<ShareSheet> shares;
  std::vector<plan::Loss> losses;
  std::vector<JobEvent> events;
  uint32_t events_dropped = 0;
  WallTime ended;
  std::vector<plan::Finding> findings = {};  // of its workers about themselves, by the clock of the run
  bool operator==(const JobSheet&) const = default;
};

// Whether an owner may write it, and another one go on from it. kInvalid says which part cannot be: names and ids that
// are none, more of something than there may be, figures out of their bounds, a share of a workflow that is not there,
// two shares with one id or one above last_share, one that runs and has no stream, one that is kEnded without an end,
// one that follows itself or a later one, or has handed over at no time.
// Texts for people are not looked at: whoever writes them down makes them fit.
Status check_sheet(const JobSheet& sheet);

}  // namespace bellwether::dispatch
