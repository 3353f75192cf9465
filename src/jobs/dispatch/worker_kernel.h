// The kernel of a worker: it accepts assignments, gives them cores, checks the owner that sends orders, and ends
// assignments by itself. It has no input and no output: messages, events of processes and the time come in; answers and
// effects go out.
//
//   offered → preparing → ready → running → ended → retired with its job
//
// Other assignments may take over the parts of a running one at a second of the run that their workers know beforehand.
// They begin with the iterations that are due from then on. The assignment ends when its own iterations have ended.
//
// Each assignment runs in a separate process, which holds the schedule and needs no owner. So an owner may die, and
// another one adopts its assignments, while the load does not change. A worker stops an assignment if it has received
// no message of an owner for isolation_limit. It keeps an ended assignment until the job is retired.
//
// An assignment of an owner that gives permits begins and runs only while its permit lasts (worker_stock.h). If the
// owner is silent, the worker asks the witnesses of the job. It may be a witness itself, of its own jobs and of others.
//
// A worker remembers the highest attempt of each workflow, also of retired jobs, for an hour or until too many other
// jobs came. So an offer that arrives late or twice never runs again. Times are of the monotonic clock. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "jobs/dispatch/messages.h"
#include "jobs/dispatch/worker_stock.h"

namespace bellwether::dispatch {

struct AssignmentKey {
  std::string job;
  AssignmentId assignment;
  auto operator<=>(const AssignmentKey&) const = default;
};

struct WorkerKernelConfig {
  uint32_t cores = 1;
  std::size_t assignments_most = 1'024;  // running or kept
  std::size_t jobs_most = 10'000;        // remembered
  std::size_t bundle_bytes_most = std::size_t{64} << 20;
  // Jobs without assignments here, unrequested ended assignments, and lives of workers of which it is a witness.
  Duration remember = Duration::hours(1);
  std::size_t askers_most = 10'000;  // those lives
  uint64_t life = 0;                 // of this worker
};

// --- events ----------------------------------------------------------------------------------------------------------

namespace kernel_event {
// A message of a manager. It gets one Answer with this ticket: at once, or, for an offer, when it is prepared.
struct Asked {
  uint64_t ticket = 0;
  std::string from;
  JobMessage message;
};
// The process of an assignment can begin; with the time that its graceful stop may take.
struct Prepared {
  AssignmentKey assignment;
  Duration graceful_stop;
};
// It cannot begin: kExhausted and kNoSpace are faults of this worker, all others of the scenario. Ended follows.
struct NotPrepared {
  AssignmentKey assignment;
  Error why;
};
// Its stream has this many seconds.
struct Measured {
  AssignmentKey assignment;
  uint64_t number = 0;
};
// The process is gone. Once for each Start, in all cases; the kernel ignores last_number.
struct Ended {
  AssignmentKey assignment;
  AssignmentEnd end;
};
// A manager has answered as the owner of the job.
struct OwnerAnswered {
  std::string job;
  std::string from;
};
// A manager names the owner of the job, or, with an empty name, says only that it is not the owner.
struct OwnerNamed {
  std::string job;
  std::string owner;
  JobFence fence;
  std::string from;
};
// A manager has answered a report.
struct ReportNoted {
  std::string from;
};
// The owner has granted a request of this time, but not for the denied assignments: others run them.
struct PermitGiven {
  std::string job;
  std::string from;
  JobFence fence;
  Instant asked;
  std::vector<AssignmentId> denied;
  std::vector<Witness> witnesses = {};
  uint64_t witnesses_since = 0;
};
// A witness of the job, in this life, has given a permit until then.
struct WitnessAnswered {
  std::string job;
  uint64_t witness = 0;
  Instant until;
};
// The owner's answer to AskForTime.
struct TimeGiven {
  AssignmentKey assignment;
  MoreTime answer;
};
// The owner no longer counts the reports of this assignment.
struct Excess {
  AssignmentKey assignment;
};
// The owner has the end of the assignment and all its seconds, durable.
struct Delivered {
  AssignmentKey assignment;
};
// Whether the worker accepts new work, and why not.
struct Willing {
  bool takes_work = true;
  std::string why;
};
// No new work from now on; Idle when the last assignment has ended.
struct Drain {};
// The worker ends soon. Until `until` owners may hand over what runs; then the worker stops it, and another worker
// continues it. `until` = now: at once.
struct Leave {
  Instant until;
};
struct Tick {};
}  // namespace kernel_event
using KernelEvent =
    std::variant<kernel_event::Asked, kernel_event::Prepared, kernel_event::NotPrepared, kernel_event::Measured,
                 kernel_event::Ended, kernel_event::OwnerAnswered, kernel_event::OwnerNamed, kernel_event::ReportNoted,
                 kernel_event::PermitGiven, kernel_event::WitnessAnswered, kernel_event::TimeGiven,
                 kernel_event::Excess, kernel_event::Delivered, kernel_event::Willing, kernel_event::Drain,
                 kernel_event::Leave, kernel_event::Tick>;

// --- effects ---------------------------------------------------------------------------------------------------------

namespace kernel_effect {
struct Answer {
  uint64_t ticket = 0;
  Response response;
};
// Start a process for it on these cores, one for each of its parts.
struct Start {
  AssignmentKey assignment;
  AssignmentOrder order;
  std::vector<uint32_t> core_of_part;
  BundleStore::Bytes bundle;
};
// Begin as if the workflow's clock had begun at `origin`, which is second `base` of the run. Its stream begins with
// second `from` of the run. An assignment that resumes makes up for nothing; one that takes over at `at` of the
// workflow's clock begins with the iterations that are due then.
struct Begin {
  AssignmentKey assignment;
  Instant origin;
  bool resumes = false;
  uint64_t base = 0;
  uint64_t from = 0;
  std::optional<Duration> at;
  plan::RowPoint rows = {};  // see vuser::Engine::run()
};
// Others continue from `at` of the workflow's clock, which is second `until` of the run.
struct HandOver {
  AssignmentKey assignment;
  Duration at;
  uint64_t until = 0;
};
// The new number of users of its workflow, in all its parts.
struct Scale {
  AssignmentKey assignment;
  uint32_t vus = 0;
};
struct Stop {
  AssignmentKey assignment;
  StopHow how = StopHow::kAtOnce;
};
struct Kill {
  AssignmentKey assignment;
};
// It may make load until then. Before its begin, and whenever the time grows; never if it needs no permit.
struct Permit {
  AssignmentKey assignment;
  Instant until;
};
// The owner is silent: ask these witnesses, of which this worker is none.
struct AskWitnesses {
  std::string job;
  AssignmentId first;
  Duration permit;
  std::vector<Witness> witnesses;
};
// Its time ends soon: ask its owner for more.
struct AskForTime {
  AssignmentKey assignment;
  Duration left;
};
// The worker may kill its process soon: the process must report all that it has measured.
struct Warn {
  AssignmentKey assignment;
};
// Send it to the owner after all its seconds.
struct TellEnd {
  AssignmentKey assignment;
  AssignmentEnd end;
};
// The owner has all numbers up to this one; send those after it, if necessary again.
struct Resume {
  AssignmentKey assignment;
  uint64_t applied = 0;
};
// Delete its measured seconds, and send no more of them.
struct Discard {
  AssignmentKey assignment;
};
// The job has another owner: requests to the last one get no answer.
struct Follow {
  std::string job;
};
// Delete everything of it.
struct Forget {
  AssignmentKey assignment;
};
// The result of report() has changed.
struct Report {};
struct Idle {};
// For the log.
struct Note {
  bool warning = false;
  std::string text;
};
}  // namespace kernel_effect
using KernelEffect =
    std::variant<kernel_effect::Answer, kernel_effect::Start, kernel_effect::Begin, kernel_effect::HandOver,
                 kernel_effect::Scale, kernel_effect::Stop, kernel_effect::Kill, kernel_effect::Permit,
                 kernel_effect::AskWitnesses, kernel_effect::AskForTime, kernel_effect::Warn, kernel_effect::TellEnd,
                 kernel_effect::Resume, kernel_effect::Discard, kernel_effect::Follow, kernel_effect::Forget,
                 kernel_effect::Report, kernel_effect::Idle, kernel_effect::Note>;
using KernelEffects = std::vector<KernelEffect>;

class WorkerKernel {
 public:
  // REQUIRES jobs_most above assignments_most.
  explicit WorkerKernel(WorkerKernelConfig config);

  void step(Instant now, const KernelEvent& event, KernelEffects& out);
  // The latest time for the next Tick.
  Instant wake() const;

  // Cores and assignments; the driver adds the rest of the report.
  WorkerReport report() const;
  // The owner of a job as far as is known: a manager's name, or nothing.
  std::string owner_of(const std::string& job) const;
  uint32_t cores() const { return cores_.count(); }
  uint32_t free_cores() const { return cores_.free(); }
  uint32_t parts_on(uint32_t core) const { return cores_.parts_on(core); }
  // Those with a process.
  std::size_t unfinished() const;
  std::size_t jobs() const { return jobs_.size(); }

 private:
  static constexpr std::size_t kMaxWaiting = 16;  // answers that wait for one preparation
  static constexpr Duration kSweepEvery = Duration::minutes(1);
  // From receipt of a hand-over to its second: the process must receive it too.
  static constexpr Duration kMinHandOver = Duration::millis(100);
  // A worker that leaves does not wait for an owner that has been silent for longer.
  static constexpr Duration kMaxSilent = Duration::seconds(5);
  static constexpr Duration kAskBefore = Duration::seconds(5);  // before the end of its time
  static constexpr Duration kAskAgain = Duration::seconds(1);
  // Between the end of its time and the reaction to it.
  static constexpr Duration kGrace = resilience::ExtensionSettings().grace;

  struct Assignment {
    AssignmentOrder order;
    AssignmentPhase phase = AssignmentPhase::kPreparing;
    bool gone = false;  // only its process is left, and the worker kills it
    std::vector<uint64_t> waiting;
    std::vector<uint32_t> core_of_part;
    BundleStore::Bytes bundle;  // kept on the store
    Duration graceful_stop;
    Instant ready;
    Instant permit = Instant::never();  // until when it may make load
    Instant go_by = Instant::never();   // a follower ends then, unless the order to go comes first
    Instant begin_by;                   // else the worker drops it
    bool has_begun = false;
    Instant origin;  // of the workflow's clock
    Instant begun;
    Instant time_ends;  // with the time granted
    Instant ask_at;     // for more time
    enum class Overtime : uint8_t { kNone, kGrace, kOver } overtime = Overtime::kNone;
    uint64_t from = 0;
    uint64_t measured = 0;
    uint64_t until = 0;  // it hands over at that second of the run; 0: it does not
    bool stopping = false;
    StopHow how = StopHow::kGraceful;
    AssignmentOutcome stopped_as = AssignmentOutcome::kStopped;
    std::string stop_why;
    Instant kill_at = Instant::never();
    bool killed = false;
    AssignmentEnd end;  // if it has ended
    Instant ended;
    bool delivered = false;
  };
  struct Workflow {
    DispatchAttempt highest;
    std::optional<Refusal> refused;  // the answer to it, if it failed
    AssignmentId begun;              // the latest assignment that began
  };
  struct Job {
    JobFence fence;
    uint64_t context_version = 0;  // the highest of all orders
    std::string owner;
    Instant heard;    // last message of its owner
    Instant touched;  // last message of any node
    JobPermit permit;
    uint64_t witnesses_since = 0;
    std::vector<Witness> witnesses;  // the newest, for all orders below
    bool retired = false;
    JobFence retired_by;
    std::map<uint16_t, Workflow> workflows;
    std::map<AssignmentId, Assignment> assignments;
  };
  static std::string named(AssignmentId assignment, const std::string& job);

  // --- worker_kernel.cc: requests. Nothing: the answer follows later.
  using Answered = std::optional<Response>;
  // What an owner asks of its job, or of an assignment that is here; and the rest.
  Answered ask(Job& job, const BeginMessage& message, KernelEffects& out);
  Answered ask(Job& job, const TakeOverMessage& message, KernelEffects& out);
  Answered ask(Job& job, const AdoptMessage& message, KernelEffects& out);
  Answered ask(Job& job, const RetireMessage& message, KernelEffects& out);
  Answered ask(Job& job, const DenyMessage& message, KernelEffects& out);
  Answered ask(Assignment& assignment, const HandOverMessage& message, KernelEffects& out);
  Answered ask(Assignment& assignment, const ScaleMessage& message, KernelEffects& out);
  Answered ask(Assignment& assignment, const StopMessage& message, KernelEffects& out);
  Answered ask(const Offer& message, const kernel_event::Asked& asked, KernelEffects& out);
  Answered ask(const BundleMessage& message, const kernel_event::Asked& asked, KernelEffects& out);
  Answered ask(const RenewMessage& message, const kernel_event::Asked& asked, KernelEffects& out);
  template <class Message>
  Answered hear(const Message& message, const kernel_event::Asked& asked, KernelEffects& out);
  // The job, if the sender may speak for it; else the reason is in `stale`.
  Job* listen(const std::string& id, JobFence fence, const std::string& from, Refusal& stale, KernelEffects& out);
  // The assignment; if it is not here, `answer` says so.
  static Assignment* assignment_of(Job& job, const std::string& id, AssignmentId assignment, Response& answer);
  // The assignment that is to begin; else `answer` says why it does not, or that it has begun. Without a permit it is
  // dropped: its owner gives its parts to others, and an earlier order that is still on its way must not begin it.
  Assignment* to_begin(Job& job, const AssignmentKey& key, Response& answer, KernelEffects& out);
  void begin(Job& job, const kernel_effect::Begin& begin, Assignment& assignment, KernelEffects& out);
  Answered known(Job& job, Assignment& assignment, const AssignmentOrder& order, uint64_t ticket);
  Answered admit(Job& job, const AssignmentOrder& order, uint64_t ticket, KernelEffects& out);
  bool make_room(KernelEffects& out);
  void follow(const std::string& id, Job& job, const std::string& owner, KernelEffects& out);
  Job& job_at(const std::string& id);

  // --- worker_kernel_life.cc: the lives of assignments
  void on(const kernel_event::Asked& event, KernelEffects& out);
  void on(const kernel_event::Prepared& event, KernelEffects& out);
  void on(const kernel_event::NotPrepared& event, KernelEffects& out);
  void on(const kernel_event::Measured& event, KernelEffects& out);
  void on(const kernel_event::Ended& event, KernelEffects& out);
  void on(const kernel_event::OwnerAnswered& event, KernelEffects& out);
  void on(const kernel_event::OwnerNamed& event, KernelEffects& out);
  void on(const kernel_event::ReportNoted& event, KernelEffects& out);
  void on(const kernel_event::PermitGiven& event, KernelEffects& out);
  void on(const kernel_event::WitnessAnswered& event, KernelEffects& out);
  void on(const kernel_event::TimeGiven& event, KernelEffects& out);
  void on(const kernel_event::Excess& event, KernelEffects& out);
  void on(const kernel_event::Delivered& event, KernelEffects& out);
  void on(const kernel_event::Willing& event, KernelEffects& out);
  void on(const kernel_event::Drain& event, KernelEffects& out);
  void on(const kernel_event::Leave& event, KernelEffects& out);
  void on(const kernel_event::Tick& event, KernelEffects& out);
  void stop(const AssignmentKey& key, Assignment& assignment, StopHow how, AssignmentOutcome as, std::string why,
            KernelEffects& out);
  // Only its process is left, and the worker kills it.
  void drop(const AssignmentKey& key, Assignment& assignment, Refusal::Kind kind, const std::string& why,
            KernelEffects& out);
  void watch(const Job& job, const AssignmentKey& key, Assignment& assignment, KernelEffects& out);
  Instant deadline_of(const Job& job, const Assignment& assignment) const;
  static Instant isolated_at(const Job& job, const Assignment& assignment);
  std::string why_isolated(const Job& job, const Assignment& assignment) const;
  static kernel_effect::Note note_end(const AssignmentKey& key, const std::string& why);
  void isolate(const Job& job, const AssignmentKey& key, Assignment& assignment, KernelEffects& out);
  Instant ends_by(const Assignment& assignment) const;
  Instant leaves_by(const Job& job) const;

  // --- worker_kernel_life.cc, too: permits
  // Whether a permit is of use to it.
  static bool may_run(const Assignment& assignment);
  static void take_witnesses(Job& job, uint64_t since, const std::vector<Witness>& witnesses);
  void renew(const Job& job, const AssignmentKey& key, Assignment& assignment, KernelEffects& out);
  void renew_all(const std::string& id, Job& job, KernelEffects& out);
  static Instant ask_at(const Job& job, const Assignment& assignment);
  void ask_witnesses(const std::string& id, Job& job, KernelEffects& out);

  // --- worker_kernel_life.cc, too: assignments that exceed their time
  static void set_time(Assignment& assignment, Instant ends, Duration ask_before);
  static Instant next_of_time(const Assignment& assignment);
  void watch_time(const AssignmentKey& key, Assignment& assignment, KernelEffects& out);
  static std::string time_used(const Assignment& assignment);

  void sweep();
  Assignment* find(const AssignmentKey& key);

  WorkerKernelConfig config_;
  WorkerCores cores_;
  BundleStore store_;
  WitnessBook witness_;
  std::map<std::string, Job> jobs_;
  Instant now_;  // of this step
  Instant sweep_at_;
  bool takes_work_ = true;
  std::string unwilling_why_;
  bool draining_ = false;
  std::optional<Instant> leaves_at_;  // when it leaves; the worker stops what runs then
  bool told_idle_ = false;
  bool changed_ = false;  // in this step
};

}  // namespace bellwether::dispatch
