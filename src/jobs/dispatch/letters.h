// What workers, managers and clients of a cluster say to each other about jobs. Every letter but one is a request, and
// has an answer: the one named beside it, or a Refusal. Plain values; dispatch/codec makes bytes of them. Where a
// client is told a struct of bellwether/client_types.h, that struct itself is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bellwether/client_types.h"
#include "core/resilience/backpressure.h"
#include "core/resilience/extension.h"
#include "jobs/dispatch/job_sheet.h"
#include "jobs/dispatch/share.h"

namespace bellwether::dispatch {

// A letter that holds more than this is refused by whoever reads it.
inline constexpr std::size_t kMostHeldShares = 4'096;  // of a worker, of all its jobs
inline constexpr std::size_t kMostNews = 1'000;        // seconds in one answer; who lacks more gets the whole
inline constexpr std::size_t kMostJobLines = 1'000;
inline constexpr std::size_t kMostWorkerLines = 10'000;
inline constexpr std::size_t kMostDatacenterLines = 1'000;
inline constexpr uint32_t kMostCores = 65'536;  // of one worker
inline constexpr std::size_t kMostTotalsBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMostLiveWindows = 64;  // in one answer

// --- a worker to managers --------------------------------------------------------------------------------------------

// How far a share has come with what its schedule lets it do, since its begin. All figures grow; of each pair, by how
// much the second grows against the first says what was done of the possible. What is waited for, the target above all,
// is not possible.
struct Headway {
  uint64_t could_turn = 0;  // turns of its load loops: one in 100 ms each, by the worker's clock
  uint64_t turned = 0;
  uint64_t could_begin = 0;  // iterations
  uint64_t begun = 0;
  uint64_t due = 0;  // arrivals
  uint64_t served = 0;
  bool operator==(const Headway&) const = default;
};

// To every manager, at its start and about once a second from then on. Answered by Noted.
struct WorkerReport {
  uint64_t life = 0;  // another one after each start of its process; never 0
  uint32_t cores = 0;
  uint32_t free = 0;
  bool takes_work = false;
  bool healthy = false;  // else it would rather have none
  std::string state;     // "healthy", "degraded", "draining" …
  std::string reason;    // why, when it is not healthy
  bool leaves = false;   // soon: what it runs is to be given to others
  struct Held {
    std::string job;
    JobFence fence;  // the highest that the worker knows of the job
    ShareId share;
    SharePhase phase = SharePhase::kPreparing;
    Headway headway = {};  // of one that runs
    bool operator==(const Held&) const = default;
  };
  std::vector<Held> held;
  bool operator==(const WorkerReport&) const = default;
};

// Numbers first to last of a share's stream (jobs/account/account_keeper.h), to the job's owner. Answered by Applied.
struct WindowLetter {
  std::string job;
  ShareId share;
  uint64_t from = 0;  // the second of the run at which the stream begins
  uint64_t first = 0;
  uint64_t last = 0;
  std::string window;
  bool operator==(const WindowLetter&) const = default;
};
struct Applied {
  uint64_t applied = 0;  // all numbers up to this one are in the account
  uint64_t durable = 0;  // and up to this one they survive the owner
  bool excess = false;   // the share was given to somebody else: nothing more of it is counted
  // How full the owner is of what it was told: of this job, or of all.
  resilience::Backpressure pressure = resilience::Backpressure::kNone;
  bool operator==(const Applied&) const = default;
};

// A share has ended, to the job's owner, until it is answered by Noted.
struct EndLetter {
  std::string job;
  ShareId share;
  ShareEnd end;
  uint64_t until = 0;  // it has handed over: the second of the run from which on its parts were others'
  bool operator==(const EndLetter&) const = default;
};

// A share is about to use up its time, and its worker asks the job's owner for more. Answered by MoreTime.
struct ExtendLetter {
  std::string job;
  ShareId share;
  Duration left;  // of its time
  resilience::ExtensionRequest request;
  bool operator==(const ExtendLetter&) const = default;
};
struct MoreTime {
  Duration granted;        // zero: no more
  uint32_t remaining = 0;  // how often more can be asked for
  bool warning = false;    // hardly: what is to be saved should be saved
  bool over = false;       // its time is over now
  std::string why;         // nothing was granted; for people
  bool operator==(const MoreTime&) const = default;
};

// For screens only, never counted from: what shares have done since their begin. The newest wins. One-way.
struct LiveLetter {
  struct Share {
    std::string job;
    ShareId share;
    uint64_t requests = 0;
    uint64_t failed = 0;
    uint64_t iterations = 0;
    uint64_t dropped = 0;
    int64_t vus = 0;
    bool operator==(const Share&) const = default;
  };
  uint64_t number = 0;  // grows, within a life of the worker
  std::vector<Share> shares;
  Instant collected;  // when it was, on the worker's monotonic clock; zero: it does not say
  bool operator==(const LiveLetter&) const = default;
};

// --- a manager to workers --------------------------------------------------------------------------------------------

// Prepare this share. Answered by Noted when it can begin.
struct Offer {
  ShareOrder order;
  bool operator==(const Offer&) const = default;
};
// What the plans of a job's shares are made from. Answered by Noted.
struct BundleLetter {
  std::string job;
  std::string hash;
  std::string bytes;
  bool operator==(const BundleLetter&) const = default;
};
// Begin: the workflow's clock began, or is to begin, `clock` ago; negative: it is to begin in the future. A share that
// goes on in the place of another one makes up for nothing that was due before it begins. Answered by Noted.
struct BeginLetter {
  std::string job;
  JobFence fence;
  ShareId share;
  Duration clock;
  bool resumes = false;
  uint64_t from = 0;  // the second of the run at which its stream begins
  bool operator==(const BeginLetter&) const = default;
};
// Begin with what another share still runs, when that one ends, at second `from` of the run, which is to come.
// Answered by Noted; by a refusal when it is too late for that.
struct TakeOverLetter {
  std::string job;
  JobFence fence;
  ShareId share;
  Duration clock;
  uint64_t from = 0;
  bool operator==(const TakeOverLetter&) const = default;
};
// Others begin with its parts at second `until` of the run: issue nothing from then on. Answered by Noted, and then it
// is not taken back; by a refusal, and then it goes on, when it is too late for that.
struct HandOverLetter {
  std::string job;
  JobFence fence;
  ShareId share;
  uint64_t until = 0;
  bool operator==(const HandOverLetter&) const = default;
};
// The workflow is to have so many users, in all its parts, from now on. Answered by Noted.
struct ScaleLetter {
  std::string job;
  JobFence fence;
  ShareId share;
  uint32_t vus = 0;
  bool operator==(const ScaleLetter&) const = default;
};
// Answered by Noted, when it is being stopped; its end is told by an EndLetter.
struct StopLetter {
  std::string job;
  JobFence fence;
  ShareId share;
  StopHow how = StopHow::kAtOnce;
  std::string why;
  bool operator==(const StopLetter&) const = default;
};
// The sender owns the job from now on, and has this of its streams. Answered by Adopted.
struct AdoptLetter {
  std::string job;
  JobFence fence;
  struct Stream {
    ShareId share;
    uint64_t applied = 0;
    bool operator==(const Stream&) const = default;
  };
  std::vector<Stream> streams;
  bool operator==(const AdoptLetter&) const = default;
};
struct Adopted {
  std::vector<ShareSight> shares;  // all of the job that the worker knows
  bool operator==(const Adopted&) const = default;
};
// The job has ended: whatever the worker has of it is not needed any more. Answered by Noted.
struct RetireLetter {
  std::string job;
  JobFence fence;
  bool operator==(const RetireLetter&) const = default;
};

// --- a client to managers, and a manager to the one who owns the job -------------------------------------------------

// Answered by Submitted; again, with the same id and bundle, too.
struct Submit {
  std::string job;  // its id, drawn by the client
  std::string by;
  std::string bundle;  // bytes
  uint64_t seed = 0;
  bool operator==(const Submit&) const = default;
};
struct Submitted {
  std::string job;
  JobState state = JobState::kSubmitted;
  uint32_t position = 0;  // in the queue, from 1; 0: not queued
  bool operator==(const Submitted&) const = default;
};

inline constexpr Duration kLiveLeast = Duration::millis(250);

// What happens to a job, from a place on. Answered by Watched, at once when there is news, else within `wait`.
struct Watch {
  std::string job;
  uint64_t revision = 0;  // of the sheet that the client has
  uint64_t seconds = 0;   // of the run's account, that it has; 0: it has nothing
  uint64_t life = 0;      // of the account that these were counted by
  Duration wait;
  // Counters that have changed are news too, after this time, and after kLiveLeast at the earliest; zero: they are not.
  Duration live_every;
  bool operator==(const Watch&) const = default;
};
// One closed second of the run, or something that is added to one.
struct SecondOver {
  Duration covered;
  bool amends = false;
  std::string window;
  bool operator==(const SecondOver&) const = default;
};
// What the shares of a job have done since their begin, as their workers told last (LiveLetter). For screens only.
using LiveSum = client::Live;
struct Watched {
  JobSheet sheet;
  uint32_t position = 0;  // in the queue
  std::string owner;      // who answers
  uint64_t life = 0;      // of the account: another one when it goes on elsewhere
  uint64_t seconds = 0;   // of the account, with these
  // Either the whole (bytes of load/codec/totals_codec.h), for one who comes late, or what came since.
  std::string totals;
  std::vector<SecondOver> news;
  bool final = false;  // nothing will change any more
  LiveSum live;        // all zero: nothing was told yet, or nothing runs any more
  bool operator==(const Watched&) const = default;
};

// For screens only: the live windows of a job (load/metrics/live_windows.h) that were closed or amended after a place
// that an earlier answer gave. Answered by LiveNews, at once when there are such, else within `wait`.
struct WatchLive {
  std::string job;
  uint64_t life = 0;    // of the windows that the client has; 0: it has none
  uint64_t change = 0;  // up to which it has them
  Duration wait;
  bool operator==(const WatchLive&) const = default;
};
struct LiveWindow {
  uint64_t number = 0;    // of its length, from the begin of the run
  uint32_t revision = 0;  // how often it was amended
  uint32_t told = 0;      // shares that told something in it
  LiveSum done;           // in it; the virtual users at its end; no age
  bool operator==(const LiveWindow&) const = default;
};
struct LiveNews {
  uint64_t life = 0;                // another one when the job goes on elsewhere: its windows begin anew
  uint64_t change = 0;              // up to which these are; to be asked with next
  std::vector<LiveWindow> windows;  // in their order, each once
  LiveSum total;                    // as the shares told last, whatever of it is in windows
  bool final = false;               // nothing will change any more
  bool operator==(const LiveNews&) const = default;
};

struct ListJobs {
  bool operator==(const ListJobs&) const = default;
};
using client::JobLine;
using client::JobList;

// Answered by Noted when it is recorded that the job is to end.
struct Cancel {
  std::string job;
  std::string by;
  std::string why;
  StopHow how = StopHow::kAtOnce;
  std::vector<std::string> workflows;  // only these; empty: all
  uint64_t number = 0;                 // drawn for it: the letter may come more than once
  bool operator==(const Cancel&) const = default;
};

// Gives a workflow that is controlled from outside so many users; with no name, the only such one. Answered by Noted
// when that is recorded.
struct Scale {
  std::string job;
  std::string by;
  std::string workflow;
  uint32_t vus = 0;
  bool operator==(const Scale&) const = default;
};

// Answered by BundleLetter.
struct FetchBundle {
  std::string job;
  bool operator==(const FetchBundle&) const = default;
};

// The workers that a manager knows. Answered by WorkerList.
struct ListWorkers {
  bool operator==(const ListWorkers&) const = default;
};
using WorkerLine = client::Worker;
struct WorkerList {
  std::vector<WorkerLine> workers;
  bool operator==(const WorkerList&) const = default;
};

// The datacenters of the cluster, as the manager that answers knows them. Answered by DatacenterList.
struct ListDatacenters {
  bool operator==(const ListDatacenters&) const = default;
};
using DatacenterLine = client::Datacenter;
struct DatacenterList {
  std::vector<DatacenterLine> datacenters;
  bool operator==(const DatacenterList&) const = default;
};

// --- answers that several letters have -------------------------------------------------------------------------------

struct Noted {
  // To a report: how full the manager is of what it was told of all jobs.
  resilience::Backpressure pressure = resilience::Backpressure::kNone;
  bool operator==(const Noted&) const = default;
};

struct Refusal {
  enum class Kind : uint8_t {
    kNotOwner,     // of the job: `owner` is, if anybody is known to be
    kNotLeader,    // `owner` leads
    kStale,        // a newer fence or a later attempt is known
    kBusy,         // no cores, no room in the queue; later, perhaps
    kUnknown,      // no such job, share, or bundle
    kBroken,       // the scenario cannot be run, whoever tries
    kInvalid,      // the letter makes no sense
    kUnavailable,  // a quorum cannot be had
    kConflict,     // another job has this id
  };
  Kind kind = Kind::kInvalid;
  std::string why;       // for people
  std::string owner;     // its name
  JobFence fence;        // the newest that is known
  Duration again_after;  // zero: it does not say
  bool operator==(const Refusal&) const = default;
};
inline constexpr std::size_t kRefusalKinds = 9;
std::string_view to_string(Refusal::Kind kind);
Refusal refusal(Refusal::Kind kind, std::string why, Duration again_after = Duration::zero());

using Letter =
    std::variant<WorkerReport, WindowLetter, EndLetter, LiveLetter, Offer, BundleLetter, BeginLetter, StopLetter,
                 AdoptLetter, RetireLetter, Submit, Watch, ListJobs, Cancel, FetchBundle, ListWorkers, ListDatacenters,
                 TakeOverLetter, HandOverLetter, ExtendLetter, WatchLive, Scale, ScaleLetter>;
using Response = std::variant<Noted, Refusal, Applied, Adopted, Submitted, Watched, JobList, BundleLetter, WorkerList,
                              DatacenterList, MoreTime, LiveNews>;

}  // namespace bellwether::dispatch
