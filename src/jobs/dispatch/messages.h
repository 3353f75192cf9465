// The messages about jobs between workers, managers and clients. Every message but one is a request with an answer: the
// one named beside it, or a Refusal. Plain values; dispatch/codec encodes them. Where a client gets a struct of
// bellwether/client_types.h, the message has that struct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bellwether/client_types.h"
#include "core/base/enum_names.h"
#include "core/resilience/backpressure.h"
#include "core/resilience/extension.h"
#include "jobs/dispatch/assignment.h"
#include "jobs/dispatch/job_record.h"

namespace bellwether::dispatch {

// The receiver refuses a message that holds more than this.
inline constexpr std::size_t kMaxHeldAssignments = 4'096;  // of a worker, of all its jobs
inline constexpr std::size_t kMaxNews = 1'000;             // seconds in one answer; beyond that it holds the totals
inline constexpr std::size_t kMaxJobLines = 1'000;
inline constexpr std::size_t kMaxWorkerLines = 10'000;
inline constexpr std::size_t kMaxDatacenterLines = 1'000;
inline constexpr uint32_t kMaxCores = 65'536;  // of one worker
inline constexpr std::size_t kMaxTotalsBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxLiveWindows = 64;                  // in one answer
inline constexpr std::size_t kMaxKeptBytes = std::size_t{8} << 20;  // of windows in one answer, and one more

// --- a worker to managers --------------------------------------------------------------------------------------------

// The progress of an assignment since its start, relative to its schedule: three pairs of counters, the possible and
// the done. The growth of the second, divided by that of the first, is the fraction that was done. Time in which users
// wait, above all for the target, is not in the possible.
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
  uint64_t life = 0;  // of the worker's process; never 0
  uint32_t cores = 0;
  uint32_t free = 0;
  bool takes_work = false;
  bool healthy = false;  // else it prefers no work
  std::string state;     // "healthy", "degraded", "draining" …
  std::string reason;    // if not healthy
  bool leaves = false;   // it ends soon: give its assignments to other workers
  struct Held {
    std::string job;
    JobFence fence;  // the highest that the worker knows of the job
    AssignmentId assignment;
    AssignmentPhase phase = AssignmentPhase::kPreparing;
    Headway headway = {};  // if it runs
    bool operator==(const Held&) const = default;
  };
  std::vector<Held> held;
  bool permits = false;  // it makes load only while it holds a permit; older versions do not say so
  uint64_t number = 0;   // grows with each report of a life; 0: of an older version
  uint64_t heard = 0;    // the newest one to which the receiver's answer has arrived; 0: none
  bool operator==(const WorkerReport&) const = default;
};

// Numbers first to last of the stream of an assignment (jobs/ingest/outbox.h), to the job's owner. Answered by
// Applied.
struct WindowMessage {
  std::string job;
  AssignmentId assignment;
  uint64_t from = 0;  // the second of the run at which the stream begins
  uint64_t first = 0;
  uint64_t last = 0;
  std::string window;
  bool operator==(const WindowMessage&) const = default;
};
struct Applied {
  uint64_t applied = 0;  // the ingest has all numbers up to this one
  uint64_t durable = 0;  // up to this one they survive the owner
  bool excess = false;   // another assignment has its parts: the ingest counts no more of it
  // The load of the owner with reports: of this job, or of all.
  resilience::Backpressure pressure = resilience::Backpressure::kNone;
  bool operator==(const Applied&) const = default;
};

// The end of an assignment, to the job's owner; repeated until Noted.
struct EndMessage {
  std::string job;
  AssignmentId assignment;
  AssignmentEnd end;
  uint64_t until = 0;  // if it has handed over: the second of the run from which others ran its parts
  bool operator==(const EndMessage&) const = default;
};

// The time of an assignment ends soon, and its worker asks the job's owner for more. Answered by MoreTime.
struct ExtendMessage {
  std::string job;
  AssignmentId assignment;
  Duration left;  // of its time
  resilience::ExtensionRequest request;
  bool operator==(const ExtendMessage&) const = default;
};
struct MoreTime {
  Duration granted;        // zero: no more
  uint32_t remaining = 0;  // further requests that may succeed
  bool warning = false;    // the time ends soon: save the results now
  bool over = false;       // its time is over now
  std::string why;         // of a zero grant; for people
  bool operator==(const MoreTime&) const = default;
};

// Counters of assignments since their begin: for screens only, never for results. The newest wins. One-way.
struct LiveMessage {
  struct Assignment {
    std::string job;
    AssignmentId assignment;
    uint64_t requests = 0;
    uint64_t failed = 0;
    uint64_t iterations = 0;
    uint64_t dropped = 0;
    int64_t vus = 0;
    bool operator==(const Assignment&) const = default;
  };
  uint64_t number = 0;  // grows within a life of the worker
  std::vector<Assignment> assignments;
  Instant collected;  // on the worker's monotonic clock; zero: not given
  bool operator==(const LiveMessage&) const = default;
};

// --- a manager to workers --------------------------------------------------------------------------------------------

// Prepare this assignment. Answered by Noted when it can begin; by FileState, at once, if the worker fetches files for
// it: offer it again a little later.
struct Offer {
  AssignmentOrder order;
  bool operator==(const Offer&) const = default;
};
// The inputs of the plans of a job. Answered by Noted.
struct BundleMessage {
  std::string job;
  std::string hash;
  std::string bytes;
  bool operator==(const BundleMessage&) const = default;
};
// Begin. The workflow's clock began `clock` ago; negative: it begins in the future. An assignment that continues
// another one makes up for nothing that was due before it begins. Answered by Noted.
struct BeginMessage {
  std::string job;
  JobFence fence;
  AssignmentId assignment;
  Duration clock;
  bool resumes = false;
  uint64_t from = 0;  // the second of the run at which its stream begins
  plan::RowPoint rows = {};
  bool operator==(const BeginMessage&) const = default;
};
// Take over from a running assignment when it ends, at second `from` of the run, in the future. With `waits` the
// assignment before it has not confirmed that end: the follower begins nothing then unless the message without `waits`
// comes first. Answered by Noted; by a refusal if it is too late.
struct TakeOverMessage {
  std::string job;
  JobFence fence;
  AssignmentId assignment;
  Duration clock;
  uint64_t from = 0;
  bool waits = false;  // an owner of an older version never says so
  plan::RowPoint rows = {};
  bool operator==(const TakeOverMessage&) const = default;
};
// Others begin with its parts at second `until` of the run: issue nothing from then on. Answered by Noted, which is
// final, or by a refusal if it is too late; then the assignment goes on.
struct HandOverMessage {
  std::string job;
  JobFence fence;
  AssignmentId assignment;
  uint64_t until = 0;
  bool operator==(const HandOverMessage&) const = default;
};
// From now on the workflow has this number of users, in all its parts. Answered by Noted.
struct ScaleMessage {
  std::string job;
  JobFence fence;
  AssignmentId assignment;
  uint32_t vus = 0;
  bool operator==(const ScaleMessage&) const = default;
};
// Answered by Noted when it is being stopped; an EndMessage reports the end.
struct StopMessage {
  std::string job;
  JobFence fence;
  AssignmentId assignment;
  StopHow how = StopHow::kAtOnce;
  std::string why;
  bool evict = false;  // kill its process now: it makes no progress, and others are to run its parts
  bool operator==(const StopMessage&) const = default;
};
// The sender owns the job from now on, and has these numbers of its streams. Answered by Adopted.
struct AdoptMessage {
  std::string job;
  JobFence fence;
  struct Stream {
    AssignmentId assignment;
    uint64_t applied = 0;
    bool operator==(const Stream&) const = default;
  };
  std::vector<Stream> streams;
  bool operator==(const AdoptMessage&) const = default;
};
struct Adopted {
  std::vector<AssignmentSight> assignments;  // all of the job that the worker knows
  bool operator==(const Adopted&) const = default;
};
// What the worker keeps of the streams of a job beyond these numbers: its owner may be gone for good. Changes nothing.
// Answered by Kept, in parts: ask again from where it ends.
struct FetchKept {
  std::string job;
  std::vector<AdoptMessage::Stream> streams;
  bool operator==(const FetchKept&) const = default;
};
struct Kept {
  std::vector<WindowMessage> windows;  // in the order of each stream
  std::vector<EndMessage> ends;
  bool operator==(const Kept&) const = default;
};
// The job has ended: the worker may delete everything of it. Answered by Noted.
struct RetireMessage {
  std::string job;
  JobFence fence;
  bool operator==(const RetireMessage&) const = default;
};

// The sender moves the assignments up to `last` of a silent worker: give it no permits for them any more. Answered by
// Denied, or by a refusal if the receiver is no witness of the job.
struct DenyMessage {
  std::string job;
  JobFence fence;
  uint64_t life = 0;  // that the receiver must be in
  Witness silent;
  AssignmentId last;
  bool operator==(const DenyMessage&) const = default;
};
struct Denied {
  Duration rest;  // within this time the last permit ends that the sender has given for them
  bool operator==(const Denied&) const = default;
};

// --- a worker to the witnesses of a job ------------------------------------------------------------------------------

// The owner of the job is silent: may the sender go on? Answered by Noted: it may, for `permit` from before it asked;
// or by a refusal.
struct RenewMessage {
  std::string job;
  uint64_t life = 0;   // that the receiver must be in
  uint64_t asker = 0;  // the life of the sender
  AssignmentId first;  // of those that it runs
  Duration permit;
  bool operator==(const RenewMessage&) const = default;
};

// --- data files that travel beside a bundle --------------------------------------------------------------------------

inline constexpr std::size_t kMaxFileChunk = std::size_t{480} << 10;  // with its envelope one message

// The next chunk of a file, from a client to the leader; without bytes a question. Answered by FileState, from which
// the client goes on.
struct PutFile {
  FileRef file;
  uint64_t offset = 0;
  std::string bytes;
  bool operator==(const PutFile&) const = default;
};
// A manager to others: keep this file for a job, and fetch it from the sender. Answered by FileState.
struct KeepFile {
  FileRef file;
  bool operator==(const KeepFile&) const = default;
};
// A worker or a manager to managers. Answered by FileChunk, without bytes if the receiver has no more of it yet.
struct FetchFile {
  FileRef file;
  uint64_t offset = 0;
  bool operator==(const FetchFile&) const = default;
};
struct FileState {
  uint64_t have = 0;  // bytes from the beginning that the sender has
  bool kept = false;  // a majority of the managers that keep jobs has the whole file
  bool operator==(const FileState&) const = default;
};
struct FileChunk {
  std::string bytes;
  bool operator==(const FileChunk&) const = default;
};

// --- a client to managers, and a manager to the owner of the job -----------------------------------------------------

// Answered by Submitted, also when repeated with the same id and bundle.
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

inline constexpr Duration kMinLive = Duration::millis(250);

// The news of a job from a position on. Answered by Watched: at once if it has news, else within `wait`.
struct Watch {
  std::string job;
  uint64_t revision = 0;  // of the record that the client has
  uint64_t seconds = 0;   // of the run's ingest that it has; 0: none
  uint64_t life = 0;      // of the ingest that counted them
  Duration wait;
  // Changed counters are news too, after this time, and after kMinLive at the earliest; zero: they are not.
  Duration live_every;
  bool operator==(const Watch&) const = default;
};
// One closed second of the run, or an amendment of one.
struct SecondOver {
  Duration covered;
  bool amends = false;
  std::string window;
  bool operator==(const SecondOver&) const = default;
};
// The counters of a job's assignments since their begin, as last reported (LiveMessage). For screens only.
using LiveSum = client::Live;
struct Watched {
  JobRecord record;
  uint32_t position = 0;  // in the queue
  std::string owner;      // the manager that answers
  uint64_t life = 0;      // of the ingest; another one under a new owner
  uint64_t seconds = 0;   // of the ingest, with these
  // Either the totals (bytes of load/codec/totals_codec.h), for a client that is far behind, or the news since.
  std::string totals;
  std::vector<SecondOver> news;
  bool final = false;  // nothing will change any more
  LiveSum live;        // all zero: no report yet, or nothing runs any more
  bool operator==(const Watched&) const = default;
};

// What is known of a job that no manager owns, for a client that waits no longer. Answered by Watched with totals;
// `final` only if a manager owns it after all.
struct FetchUnconfirmed {
  std::string job;
  bool operator==(const FetchUnconfirmed&) const = default;
};

// For screens only: the live windows of a job (load/metrics/live_windows.h) that were closed or amended after the
// position of an earlier answer. Answered by LiveNews: at once if it has such, else within `wait`.
struct WatchLive {
  std::string job;
  uint64_t life = 0;    // of the windows that the client has; 0: it has none
  uint64_t change = 0;  // up to which it has them
  Duration wait;
  bool operator==(const WatchLive&) const = default;
};
struct LiveWindow {
  uint64_t number = 0;    // in units of its length, from the start of the run
  uint32_t revision = 0;  // number of amendments
  uint32_t told = 0;      // assignments that reported in it
  LiveSum done;           // in it; the virtual users at its end; no age
  bool operator==(const LiveWindow&) const = default;
};
struct LiveNews {
  uint64_t life = 0;                // another one under a new owner: its windows start again
  uint64_t change = 0;              // up to which these are; send it with the next request
  std::vector<LiveWindow> windows;  // in their order, each once
  LiveSum total;                    // as last reported, whether in windows or not
  bool final = false;               // nothing will change any more
  bool operator==(const LiveNews&) const = default;
};

struct ListJobs {
  bool operator==(const ListJobs&) const = default;
};
using client::JobLine;
using client::JobList;

// Answered by Noted when the end of the job is recorded.
struct Cancel {
  std::string job;
  std::string by;
  std::string why;
  StopHow how = StopHow::kAtOnce;
  std::vector<std::string> workflows;  // only these; empty: all
  uint64_t number = 0;                 // drawn for it: the message may come more than once
  bool operator==(const Cancel&) const = default;
};

// Sets the number of users of an externally controlled workflow; an empty name means the only such one. Answered by
// Noted when it is recorded.
struct Scale {
  std::string job;
  std::string by;
  std::string workflow;
  uint32_t vus = 0;
  bool operator==(const Scale&) const = default;
};

// Answered by BundleMessage.
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

// The datacenters that the manager knows. Answered by DatacenterList.
struct ListDatacenters {
  bool operator==(const ListDatacenters&) const = default;
};
using DatacenterLine = client::Datacenter;
struct DatacenterList {
  std::vector<DatacenterLine> datacenters;
  bool operator==(const DatacenterList&) const = default;
};

// --- answers to several messages -------------------------------------------------------------------------------------

struct Noted {
  // To a report: the load of the manager with reports of all jobs.
  resilience::Backpressure pressure = resilience::Backpressure::kNone;
  // To a report, of the jobs that the sender owns: the worker may run their assignments for another AssignmentOrder's
  // `permit` from before it made the report, but not these, which others run.
  struct Permit {
    std::string job;
    JobFence fence;
    std::vector<AssignmentId> denied;
    // The witnesses of the job from now on, if the worker may not know them.
    std::vector<Witness> witnesses = {};
    uint64_t witnesses_since = 0;
    bool operator==(const Permit&) const = default;
  };
  std::vector<Permit> permits = {};
  bool operator==(const Noted&) const = default;
};

struct Refusal {
  enum class Kind : uint8_t {
    kNotOwner,     // of the job: `owner` is, if known
    kNotLeader,    // `owner` leads
    kStale,        // a newer fence or a later attempt is known
    kBusy,         // no cores, no room in the queue; later, perhaps
    kUnknown,      // no such job, assignment, or bundle
    kBroken,       // no worker can run the scenario
    kInvalid,      // the message makes no sense
    kUnavailable,  // no quorum
    kConflict,     // another job has this id
  };
  Kind kind = Kind::kInvalid;
  std::string why;       // for people
  std::string owner;     // its name
  JobFence fence;        // the newest that is known
  Duration again_after;  // zero: not given
  bool operator==(const Refusal&) const = default;
};
inline constexpr std::size_t kRefusalKinds = 9;
inline std::string_view to_string(Refusal::Kind kind) {
  return EnumNames<Refusal::Kind>("not_owner", "not_leader", "stale", "busy", "unknown", "broken", "invalid",
                                  "unavailable", "conflict")[kind];
}
inline Refusal refusal(Refusal::Kind kind, std::string why, Duration again_after = Duration::zero()) {
  Refusal out;
  out.kind = kind;
  out.why = std::move(why);
  out.again_after = again_after;
  return out;
}

using JobMessage =
    std::variant<WorkerReport, WindowMessage, EndMessage, LiveMessage, Offer, BundleMessage, BeginMessage, StopMessage,
                 AdoptMessage, RetireMessage, Submit, Watch, ListJobs, Cancel, FetchBundle, ListWorkers,
                 ListDatacenters, TakeOverMessage, HandOverMessage, ExtendMessage, WatchLive, Scale, ScaleMessage,
                 DenyMessage, RenewMessage, PutFile, KeepFile, FetchFile, FetchKept, FetchUnconfirmed>;
using Response = std::variant<Noted, Refusal, Applied, Adopted, Submitted, Watched, JobList, BundleMessage, WorkerList,
                              DatacenterList, MoreTime, LiveNews, Denied, FileState, FileChunk, Kept>;

}  // namespace bellwether::dispatch
