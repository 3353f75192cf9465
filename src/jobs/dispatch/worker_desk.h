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
#include "jobs/dispatch/letters.h"
#include "jobs/dispatch/worker_stock.h"

namespace bellwether::dispatch {

struct ShareKey {
  std::string job;
  ShareId share;
  auto operator<=>(const ShareKey&) const = default;
};

struct WorkerDeskConfig {
  uint32_t cores = 1;
  std::size_t shares_most = 1'024;  // running or kept
  std::size_t jobs_most = 10'000;   // remembered
  std::size_t bundle_bytes_most = std::size_t{64} << 20;
  Duration remember = Duration::hours(1);  // jobs without assignments here, and unrequested ended assignments
};

// --- events ----------------------------------------------------------------------------------------------------------

namespace desk_event {
// A message of a manager. It gets one Answer with this ticket: at once, or, for an offer, when it is prepared.
struct Asked {
  uint64_t ticket = 0;
  std::string from;
  Letter letter;
};
// The process of an assignment can begin; with the time that its graceful stop may take.
struct Prepared {
  ShareKey share;
  Duration graceful_stop;
};
// It cannot begin: kExhausted and kNoSpace are faults of this worker, all others of the scenario. Ended follows.
struct NotPrepared {
  ShareKey share;
  Error why;
};
// Its stream has this many seconds.
struct Measured {
  ShareKey share;
  uint64_t number = 0;
};
// The process is gone. Once for each Start, in all cases; the desk ignores last_number.
struct Ended {
  ShareKey share;
  ShareEnd end;
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
// The owner's answer to AskForTime.
struct TimeGiven {
  ShareKey share;
  MoreTime answer;
};
// The owner counts nothing of this assignment any more.
struct Excess {
  ShareKey share;
};
// The owner has the end of the assignment and all its seconds, durable.
struct Delivered {
  ShareKey share;
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
}  // namespace desk_event
using DeskEvent =
    std::variant<desk_event::Asked, desk_event::Prepared, desk_event::NotPrepared, desk_event::Measured,
                 desk_event::Ended, desk_event::OwnerAnswered, desk_event::OwnerNamed, desk_event::ReportNoted,
                 desk_event::TimeGiven, desk_event::Excess, desk_event::Delivered, desk_event::Willing,
                 desk_event::Drain, desk_event::Leave, desk_event::Tick>;

// --- effects ---------------------------------------------------------------------------------------------------------

namespace desk_effect {
struct Answer {
  uint64_t ticket = 0;
  Response response;
};
// Start a process for it on these cores, one for each of its parts.
struct Start {
  ShareKey share;
  ShareOrder order;
  std::vector<uint32_t> core_of_part;
  BundleShelf::Bytes bundle;
};
// Begin as if the workflow's clock had begun at `origin`, which is second `base` of the run. Its stream begins with
// second `from` of the run. An assignment that resumes makes up for nothing; one that takes over at `at` of the
// workflow's clock begins with the iterations that are due then.
struct Begin {
  ShareKey share;
  Instant origin;
  bool resumes = false;
  uint64_t base = 0;
  uint64_t from = 0;
  std::optional<Duration> at;
};
// Others continue from `at` of the workflow's clock, which is second `until` of the run.
struct HandOver {
  ShareKey share;
  Duration at;
  uint64_t until = 0;
};
// The new number of users of its workflow, in all its parts.
struct Scale {
  ShareKey share;
  uint32_t vus = 0;
};
struct Stop {
  ShareKey share;
  StopHow how = StopHow::kAtOnce;
};
struct Kill {
  ShareKey share;
};
// Its time ends soon: ask its owner for more.
struct AskForTime {
  ShareKey share;
  Duration left;
};
// The worker may end its process soon: it reports all that it has measured.
struct Warn {
  ShareKey share;
};
// Send it to the owner after all its seconds.
struct TellEnd {
  ShareKey share;
  ShareEnd end;
};
// The owner has all numbers up to this one; send those after it, if necessary again.
struct Resume {
  ShareKey share;
  uint64_t applied = 0;
};
// Delete its measured seconds, and send no more of them.
struct Discard {
  ShareKey share;
};
// The job has another owner: requests to the last one get no answer.
struct Follow {
  std::string job;
};
// Delete everything of it.
struct Forget {
  ShareKey share;
};
// The result of report() has changed.
struct Report {};
struct Idle {};
// For the log.
struct Note {
  bool warning = false;
  std::string text;
};
}  // namespace desk_effect
using DeskEffect =
    std::variant<desk_effect::Answer, desk_effect::Start, desk_effect::Begin, desk_effect::HandOver, desk_effect::Scale,
                 desk_effect::Stop, desk_effect::Kill, desk_effect::AskForTime, desk_effect::Warn, desk_effect::TellEnd,
                 desk_effect::Resume, desk_effect::Discard, desk_effect::Follow, desk_effect::Forget,
                 desk_effect::Report, desk_effect::Idle, desk_effect::Note>;
using DeskEffects = std::vector<DeskEffect>;

class WorkerDesk {
 public:
  // REQUIRES jobs_most above shares_most.
  explicit WorkerDesk(WorkerDeskConfig config);

  void step(Instant now, const DeskEvent& event, DeskEffects& out);
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
  static constexpr std::size_t kMostWaiting = 16;  // answers that wait for one preparation
  static constexpr Duration kSweepEvery = Duration::minutes(1);
  // From receipt of a hand-over to its second: the process must receive it too.
  static constexpr Duration kHandOverLeast = Duration::millis(100);
  // A worker that leaves does not wait for an owner that has been silent for longer.
  static constexpr Duration kSilentMost = Duration::seconds(5);
  static constexpr Duration kAskBefore = Duration::seconds(5);  // before the end of its time
  static constexpr Duration kAskAgain = Duration::seconds(1);
  // Between the end of its time and the reaction to it.
  static constexpr Duration kGrace = resilience::ExtensionSettings().grace;

  struct Share {
    ShareOrder order;
    SharePhase phase = SharePhase::kPreparing;
    bool gone = false;  // only its process is left, and the worker kills it
    std::vector<uint64_t> waiting;
    std::vector<uint32_t> core_of_part;
    BundleShelf::Bytes bundle;  // kept on the shelf
    Duration graceful_stop;
    Instant begin_by;  // else the worker drops it
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
    ShareOutcome stopped_as = ShareOutcome::kStopped;
    std::string stop_why;
    Instant kill_at = Instant::never();
    bool killed = false;
    ShareEnd end;  // if it has ended
    Instant ended;
    bool delivered = false;
  };
  struct Workflow {
    DispatchAttempt highest;
    std::optional<Refusal> refused;  // the answer to it, if it failed
    ShareId begun;                   // the latest assignment that began
  };
  struct Job {
    JobFence fence;
    uint64_t context_version = 0;  // the highest of all orders
    std::string owner;
    Instant heard;    // last message of its owner
    Instant touched;  // last message of any node
    bool retired = false;
    JobFence retired_by;
    std::map<uint16_t, Workflow> workflows;
    std::map<ShareId, Share> shares;
  };
  static std::string named(ShareId share, const std::string& job);

  // --- worker_desk.cc: requests. Nothing: the answer follows later.
  using Answered = std::optional<Response>;
  Answered ask(const ScaleLetter& letter, const desk_event::Asked& asked, DeskEffects& out);
  Answered ask(const Offer& letter, const desk_event::Asked& asked, DeskEffects& out);
  Answered ask(const BundleLetter& letter, const desk_event::Asked& asked, DeskEffects& out);
  Answered ask(const BeginLetter& letter, const desk_event::Asked& asked, DeskEffects& out);
  Answered ask(const TakeOverLetter& letter, const desk_event::Asked& asked, DeskEffects& out);
  Answered ask(const HandOverLetter& letter, const desk_event::Asked& asked, DeskEffects& out);
  Answered ask(const StopLetter& letter, const desk_event::Asked& asked, DeskEffects& out);
  Answered ask(const AdoptLetter& letter, const desk_event::Asked& asked, DeskEffects& out);
  Answered ask(const RetireLetter& letter, const desk_event::Asked& asked, DeskEffects& out);
  template <class Other>
  Answered ask(const Other& letter, const desk_event::Asked& asked, DeskEffects& out);
  // The job, if the sender may speak for it; else the reason is in `stale`.
  Job* listen(const std::string& id, JobFence fence, const std::string& from, Refusal& stale, DeskEffects& out);
  // The assignment; if it is not here, `answer` says so.
  static Share* share_of(Job& job, const std::string& id, ShareId share, Response& answer);
  // The assignment that is to begin; else `answer` says why it does not, or that it has begun.
  Share* to_begin(Job& job, const std::string& id, ShareId share, Response& answer);
  void begin(Job& job, const desk_effect::Begin& begin, Share& share, DeskEffects& out);
  Answered known(Job& job, Share& share, const ShareOrder& order, uint64_t ticket);
  Answered admit(Job& job, const ShareOrder& order, uint64_t ticket, DeskEffects& out);
  bool make_room(DeskEffects& out);
  void follow(const std::string& id, Job& job, const std::string& owner, DeskEffects& out);
  Job& job_at(const std::string& id);

  // --- worker_desk_life.cc: the lives of assignments
  void on(const desk_event::Asked& event, DeskEffects& out);
  void on(const desk_event::Prepared& event, DeskEffects& out);
  void on(const desk_event::NotPrepared& event, DeskEffects& out);
  void on(const desk_event::Measured& event, DeskEffects& out);
  void on(const desk_event::Ended& event, DeskEffects& out);
  void on(const desk_event::OwnerAnswered& event, DeskEffects& out);
  void on(const desk_event::OwnerNamed& event, DeskEffects& out);
  void on(const desk_event::ReportNoted& event, DeskEffects& out);
  void on(const desk_event::TimeGiven& event, DeskEffects& out);
  void on(const desk_event::Excess& event, DeskEffects& out);
  void on(const desk_event::Delivered& event, DeskEffects& out);
  void on(const desk_event::Willing& event, DeskEffects& out);
  void on(const desk_event::Drain& event, DeskEffects& out);
  void on(const desk_event::Leave& event, DeskEffects& out);
  void on(const desk_event::Tick& event, DeskEffects& out);
  void stop(const ShareKey& key, Share& share, StopHow how, ShareOutcome as, std::string why, DeskEffects& out);
  // Only its process is left, and the worker kills it.
  void drop(const ShareKey& key, Share& share, Refusal::Kind kind, const std::string& why, DeskEffects& out);
  void watch(const Job& job, const ShareKey& key, Share& share, DeskEffects& out);
  Instant deadline_of(const Job& job, const Share& share) const;
  Instant ends_by(const Share& share) const;
  Instant leaves_by(const Job& job) const;

  // --- worker_desk_life.cc, too: assignments that exceed their time
  static void set_time(Share& share, Instant ends, Duration ask_before);
  static Instant next_of_time(const Share& share);
  void watch_time(const ShareKey& key, Share& share, DeskEffects& out);
  static std::string time_used(const Share& share);

  void sweep();
  Share* find(const ShareKey& key);

  WorkerDeskConfig config_;
  WorkerCores cores_;
  BundleShelf shelf_;
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
