// An assignment: one workflow's load is cut into parts of one core each, and some of them go to one
// worker. Fences protect its orders: one that comes late, twice, or from a former owner never runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "core/base/strong_id.h"
#include "core/base/time.h"
#include "election/epoch.h"
#include "load/plan/context.h"
#include "load/plan/finding.h"
#include "load/plan/plan.h"

namespace bellwether::dispatch {

using election::JobFence;

// The id of a job, and the hash of a bundle, in hexadecimal: 1 to 64 letters, digits, '-' and '_'.
inline constexpr std::size_t kMaxIdBytes = 64;
bool is_job_id(std::string_view text);
bool is_bundle_hash(std::string_view text);
// 1 to 64 bytes without terminal control.
bool is_worker_name(std::string_view text);

// Limit of seconds of a run and of numbers of a stream, so that sums of a few do not overflow.
inline constexpr uint64_t kMaxSeconds = uint64_t{1} << 40;
// Ten years, and the year 2200: longer than every run, and far from overflow in sums.
inline constexpr Duration kLongestSpan = Duration::hours(24 * 3'660);
inline constexpr WallTime kLatestTime{7'258'118'400'000'000'000};

// One attempt of one worker at some parts of a workflow. The owner never uses a number twice in a job. It also names
// the stream of the measured seconds.
using AssignmentId = StrongId<struct AssignmentTag, uint32_t>;

// A worker accepts only an attempt of a later owner, or of a later assignment of the same one (election/epoch.h).
using election::DispatchAttempt;
constexpr DispatchAttempt attempt_of(JobFence fence, AssignmentId assignment) { return {fence, assignment.value()}; }

// Parts [first, first + count) of a workflow that was cut into `of` parts.
struct PartRange {
  uint32_t first = 0;
  uint32_t count = 1;
  uint32_t of = 1;
  constexpr bool operator==(const PartRange&) const = default;
};
inline constexpr uint32_t kMaxParts = 65'536;
constexpr bool is_good(const PartRange& parts) {
  return parts.of > 0 && parts.of <= kMaxParts && parts.count > 0 && parts.count <= parts.of &&
         parts.first <= parts.of - parts.count;
}

std::vector<uint32_t> parts_of(const PartRange& range);

// A life of a worker that may renew the permits of a job (jobs/dispatch/load_fence.h) while its owner is silent.
struct Witness {
  std::string worker;
  uint64_t life = 0;
  bool operator==(const Witness&) const = default;
};
inline constexpr std::size_t kMaxWitnesses = 5;

// The order of an owner to a worker.
struct AssignmentOrder {
  std::string job;
  AssignmentId assignment;
  JobFence fence;         // with the assignment, the attempt
  uint16_t workflow = 0;  // of the plan
  PartRange parts;
  uint32_t cores = 1;        // free ones; further parts share them
  bool squeeze = false;      // replaces a dead worker: on cores in use, if none is free
  uint64_t base_second = 0;  // of the run: where the workflow's clock begins
  uint64_t seed = 0;
  std::string bundle;                                // the hash of the plan's inputs
  Duration kill_grace = Duration::seconds(5);        // from the order to stop at once to the kill
  Duration isolation_limit = Duration::seconds(60);  // without a message of the job's owner
  // From its begin; then its time is over, unless an owner gives it more.
  Duration execution_limit = Duration::hours(24);
  plan::OnOvertime on_overtime = plan::OnOvertime::kKill;
  // Of the job's context: the progress of the job at this order. An order with a lower version is stale.
  uint64_t context_version = 0;
  std::vector<plan::Given> given = {};  // values of other workflows that this one uses
  // That its parts may begin together, of a workflow which counts them.
  std::optional<uint64_t> iterations = std::nullopt;
  // Users that the workflow is to have in all its parts, if it is externally controlled.
  std::optional<uint32_t> vus = std::nullopt;
  // How long a permit of the owner lasts, from before the worker asked for it. Zero: its owner gives no permits, and
  // the worker needs none.
  Duration permit = {};
  std::vector<Witness> witnesses = {};  // of the job
  uint64_t witnesses_since = 0;         // the higher one is the newer; 0: the worker may know newer ones
  uint64_t life = 0;                    // of the worker that it is meant for; 0: older owners do not say
  std::vector<FileRef> files = {};      // data files beside the bundle, which the worker fetches from managers
  bool operator==(const AssignmentOrder&) const = default;
};

inline constexpr std::size_t kMaxFilesBeside = 200;  // of one bundle
// How long a process may take, in addition, to read these files before it can begin: at 50 MiB a second.
Duration reading_time(const std::vector<FileRef>& files);

enum class StopHow : uint8_t {
  kGraceful,  // running iterations may finish, within the workflow's graceful_stop
  kAtOnce,    // and killed if it ignores that
};
inline constexpr std::size_t kStopHows = 2;

// How an assignment ended, according to its worker.
enum class AssignmentOutcome : uint8_t {
  kCompleted,
  kStopped,   // on an order
  kAborted,   // a step with on_error: abort failed
  kFailed,    // it could not be prepared or begun
  kCrashed,   // its process ended by itself
  kKilled,    // it did not stop in time
  kIsolated,  // it had no permit any more, or no message of an owner of the job for isolation_limit
  kOvertime,  // it exceeded execution_limit
  kLeft,      // its worker leaves the cluster in order
  kTimedOut,  // at the timeout of its workflow
  kEvicted,   // its owner had its process killed, to have its parts run elsewhere
  kLost,      // somebody else killed its process
};
inline constexpr std::size_t kAssignmentOutcomes = 12;
std::string_view to_string(AssignmentOutcome outcome);

// Texts from the scripts of an assignment: the maximum of one assignment, and of a job.
inline constexpr std::size_t kMaxNotes = 16;

struct AssignmentEnd {
  AssignmentOutcome outcome = AssignmentOutcome::kCompleted;
  std::string detail;                         // which step, which signal; for people
  uint64_t last_number = 0;                   // of its stream; 0: it has measured nothing
  Duration ran;                               // time on the workflow's clock at its end
  std::vector<plan::Provided> provided = {};  // for other workflows
  std::vector<std::string> notes = {};        // of its scripts, each once
  std::vector<plan::Finding> findings = {};   // about its generator, by its own clock; at most kMaxFindings
  bool operator==(const AssignmentEnd&) const = default;
};

// The state of an assignment on a worker.
enum class AssignmentPhase : uint8_t { kPreparing, kReady, kRunning, kEnded };
inline constexpr std::size_t kAssignmentPhases = 4;
std::string_view to_string(AssignmentPhase phase);

// What a worker knows of an assignment, for an owner that asks.
struct AssignmentSight {
  AssignmentId assignment;
  AssignmentPhase phase = AssignmentPhase::kPreparing;
  Duration clock;         // age of the workflow's clock, after an order to begin; never 0 then
  uint64_t from = 0;      // the second of the run at which its stream begins, if it has begun
  uint64_t measured = 0;  // number of its last second so far
  uint64_t until = 0;     // if it hands over: the second of the run from which others run its parts
  AssignmentEnd end;      // if it has ended
  bool operator==(const AssignmentSight&) const = default;
};

}  // namespace bellwether::dispatch
