// Everything that a worker decides: which shares it takes, on which of its cores, from whom it takes orders about them,
// and when it ends one by itself. A kernel without input and output: letters, what its processes do and the time come
// in, answers and acts go out.
//
//   offered → preparing → ready → running → ended → retired with its job
//
// The parts of a share that runs may be taken over by others, at a second of the run that is told beforehand: those
// begin with what is due from then on, and the share ends when what it had begun by then has ended.
//
// Each share runs in a process of its own, which holds the schedule and needs nobody to go on. So an owner of the job
// may die, and another one adopt its shares, while the load stays what it is; only when no owner is heard of for
// isolation_limit, a share is stopped. What has ended is kept until the job is retired.
//
// A worker remembers the highest attempt of each workflow, also of retired jobs, for an hour or until too many jobs
// came after it: an offer that comes late or twice never runs again. Times are of the monotonic clock. One thread.
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
  std::size_t shares_most = 1'024;  // that run, or are kept
  std::size_t jobs_most = 10'000;   // that are remembered
  std::size_t bundle_bytes_most = std::size_t{64} << 20;
  Duration remember = Duration::hours(1);  // a job of which nothing is here, and what ended and nobody asks for
};

// --- events ----------------------------------------------------------------------------------------------------------

namespace desk_event {
// A letter of a manager, which gets one Answer with this ticket: at once, or, of an offer, when it is prepared.
struct Asked {
  uint64_t ticket = 0;
  std::string from;
  Letter letter;
};
// The process of a share can begin; how long it may take to stop gracefully.
struct Prepared {
  ShareKey share;
  Duration graceful_stop;
};
// It never will: kExhausted and kNoSpace are this worker's, anything else is the scenario's. Ended is to follow.
struct NotPrepared {
  ShareKey share;
  Error why;
};
// It has this many seconds in its stream.
struct Measured {
  ShareKey share;
  uint64_t number = 0;
};
// The process is gone. Once for each Start, whatever happened; last_number is not looked at.
struct Ended {
  ShareKey share;
  ShareEnd end;
};
// Somebody has answered as the owner of the job.
struct OwnerAnswered {
  std::string job;
  std::string from;
};
// Somebody says who owns the job, or, with no name, only that it is not itself.
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
// What the owner has answered to AskForTime.
struct TimeGiven {
  ShareKey share;
  MoreTime answer;
};
// The owner counts nothing of this share any more.
struct Excess {
  ShareKey share;
};
// The end of the share and all that it measured are safe with its owner.
struct Delivered {
  ShareKey share;
};
// Whether new work is taken, and why not.
struct Willing {
  bool takes_work = true;
  std::string why;
};
// No new work from now on; Idle when the last share has ended.
struct Drain {};
// The worker is to end soon: what runs is handed over, as far as its owners see to that until `until`, and then
// stopped, for somebody else to go on with it. Until now: at once.
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
// Start a process for it, on these cores: one for each of its parts.
struct Start {
  ShareKey share;
  ShareOrder order;
  std::vector<uint32_t> core_of_part;
  BundleShelf::Bytes bundle;
};
// Begin, as if the workflow's clock had begun at `origin`, which is second `base` of the run. Its stream begins with
// second `from` of the run. One that resumes makes up for nothing; one that takes over at `at` of the workflow's clock
// begins with what is due then.
struct Begin {
  ShareKey share;
  Instant origin;
  bool resumes = false;
  uint64_t base = 0;
  uint64_t from = 0;
  std::optional<Duration> at;
};
// Others go on from `at` of the workflow's clock, which is second `until` of the run.
struct HandOver {
  ShareKey share;
  Duration at;
  uint64_t until = 0;
};
// Its workflow is to have so many users, in all its parts.
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
// It will soon have used its time: its owner is to be asked for more.
struct AskForTime {
  ShareKey share;
  Duration left;
};
// Its process may be ended soon: it is to tell all that it has measured.
struct Warn {
  ShareKey share;
};
// To the owner, behind all that it measured.
struct TellEnd {
  ShareKey share;
  ShareEnd end;
};
// The owner has all numbers up to this one; what comes after it is to be sent, again perhaps.
struct Resume {
  ShareKey share;
  uint64_t applied = 0;
};
// Nothing that was measured is to be kept or sent any more.
struct Discard {
  ShareKey share;
};
// The job has another owner: whatever waits for an answer of the last one waits in vain.
struct Follow {
  std::string job;
};
// Nothing of it is here any more.
struct Forget {
  ShareKey share;
};
// What report() says has changed.
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
  // REQUIRES more jobs than shares.
  explicit WorkerDesk(WorkerDeskConfig config);

  void step(Instant now, const DeskEvent& event, DeskEffects& out);
  // When to send Tick at the latest.
  Instant wake() const;

  // Cores and shares; the rest of a report is not the desk's to say.
  WorkerReport report() const;
  // Who owns a job, as far as is known: a manager's name, or nothing.
  std::string owner_of(const std::string& job) const;
  uint32_t cores() const { return cores_.count(); }
  uint32_t free_cores() const { return cores_.free(); }
  uint32_t parts_on(uint32_t core) const { return cores_.parts_on(core); }
  // Those that have a process.
  std::size_t unfinished() const;
  std::size_t jobs() const { return jobs_.size(); }

 private:
  static constexpr std::size_t kMostWaiting = 16;  // answers that wait for one preparation
  static constexpr Duration kSweepEvery = Duration::minutes(1);
  // From hearing that a share hands over to the second at which it does: its process has to hear it too.
  static constexpr Duration kHandOverLeast = Duration::millis(100);
  // A worker that leaves does not wait for an owner that was not heard of for so long.
  static constexpr Duration kSilentMost = Duration::seconds(5);
  static constexpr Duration kAskBefore = Duration::seconds(5);  // the end of its time
  static constexpr Duration kAskAgain = Duration::seconds(1);
  // Between the end of its time and what follows from it.
  static constexpr Duration kGrace = resilience::ExtensionSettings().grace;

  struct Share {
    ShareOrder order;
    SharePhase phase = SharePhase::kPreparing;
    bool gone = false;  // only its process is left, and is being killed
    std::vector<uint64_t> waiting;
    std::vector<uint32_t> core_of_part;
    BundleShelf::Bytes bundle;  // kept on the shelf
    Duration graceful_stop;
    Instant begin_by;  // or be dropped
    bool has_begun = false;
    Instant origin;  // of the workflow's clock
    Instant begun;
    Instant time_ends;  // with what was granted
    Instant ask_at;     // for more
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
    ShareEnd end;  // of one that has ended
    Instant ended;
    bool delivered = false;
  };
  struct Workflow {
    DispatchAttempt highest;
    std::optional<Refusal> refused;  // how that was answered when it came to nothing
    ShareId begun;                   // the latest share that ever began
  };
  struct Job {
    JobFence fence;
    uint64_t context_version = 0;  // the highest that something was ordered with
    std::string owner;
    Instant heard;    // of its owner
    Instant touched;  // by anybody
    bool retired = false;
    JobFence retired_by;
    std::map<uint16_t, Workflow> workflows;
    std::map<ShareId, Share> shares;
  };
  static std::string named(ShareId share, const std::string& job);

  // --- worker_desk.cc: what it is asked. Nothing: it will be answered later.
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
  // The job, if whoever writes may speak for it; else why not is in `stale`.
  Job* listen(const std::string& id, JobFence fence, const std::string& from, Refusal& stale, DeskEffects& out);
  // The share; else, that it is not here is in `answer`.
  static Share* share_of(Job& job, const std::string& id, ShareId share, Response& answer);
  // The share that is to begin; else why it does not, or that it has, is in `answer`.
  Share* to_begin(Job& job, const std::string& id, ShareId share, Response& answer);
  void begin(Job& job, const desk_effect::Begin& begin, Share& share, DeskEffects& out);
  Answered known(Job& job, Share& share, const ShareOrder& order, uint64_t ticket);
  Answered admit(Job& job, const ShareOrder& order, uint64_t ticket, DeskEffects& out);
  bool make_room(DeskEffects& out);
  void follow(const std::string& id, Job& job, const std::string& owner, DeskEffects& out);
  Job& job_at(const std::string& id);

  // --- worker_desk_life.cc: what becomes of shares
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
  // Only its process is left, and it is killed.
  void drop(const ShareKey& key, Share& share, Refusal::Kind kind, const std::string& why, DeskEffects& out);
  void watch(const Job& job, const ShareKey& key, Share& share, DeskEffects& out);
  Instant deadline_of(const Job& job, const Share& share) const;
  Instant ends_by(const Share& share) const;
  Instant leaves_by(const Job& job) const;

  // --- worker_desk_life.cc, too: shares that run for longer than they may
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
  std::optional<Instant> leaves_at_;  // it leaves: what runs then is stopped
  bool told_idle_ = false;
  bool changed_ = false;  // in this step
};

}  // namespace bellwether::dispatch
