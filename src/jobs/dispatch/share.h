// A share of a job: one workflow's load, cut into parts of one core each, of which some go to one worker. And who may
// say something about it: dispatches are fenced, so that one which comes late, twice, or from an owner that is none any
// more never runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/strong_id.h"
#include "core/base/time.h"
#include "election/epoch.h"
#include "load/plan/context.h"
#include "load/plan/finding.h"
#include "load/plan/plan.h"

namespace bellwether::dispatch {

using election::JobFence;

// The id of a job, and the hash of a bundle, in hexadecimal: 1 to 64 letters, digits, '-' and '_'.
inline constexpr std::size_t kMostIdBytes = 64;
bool is_job_id(std::string_view text);
bool is_bundle_hash(std::string_view text);
// 1 to 64 bytes, none of which would steer a terminal.
bool is_worker_name(std::string_view text);

// Seconds of a run and numbers of a stream are below this, so that sums of a few do not overflow.
inline constexpr uint64_t kMostSeconds = uint64_t{1} << 40;
// Ten years, and the year 2200: beyond every run, and far from where adding up overflows.
inline constexpr Duration kLongestSpan = Duration::hours(24 * 3'660);
inline constexpr WallTime kLatestTime{7'258'118'400'000'000'000};

// One attempt of one worker at some parts of a workflow; given by the job's owner, never twice in a job. It is also the
// name of the stream of statistics that comes of it.
using ShareId = StrongId<struct ShareTag, uint32_t>;

// A worker takes only what is in order with all that it knows of the workflow (election/epoch.h): of a later owner, or
// a later share.
using election::DispatchAttempt;
constexpr DispatchAttempt attempt_of(JobFence fence, ShareId share) { return {fence, share.value()}; }

// Parts [first, first + count) of a workflow that was cut into `of` parts.
struct PartRange {
  uint32_t first = 0;
  uint32_t count = 1;
  uint32_t of = 1;
  constexpr bool operator==(const PartRange&) const = default;
};
inline constexpr uint32_t kMostParts = 65'536;
constexpr bool is_good(const PartRange& parts) {
  return parts.of > 0 && parts.of <= kMostParts && parts.count > 0 && parts.count <= parts.of &&
         parts.first <= parts.of - parts.count;
}

std::vector<uint32_t> parts_of(const PartRange& range);

// What a worker is asked to run.
struct ShareOrder {
  std::string job;
  ShareId share;
  JobFence fence;         // with the share, the attempt
  uint16_t workflow = 0;  // of the plan
  PartRange parts;
  uint32_t cores = 1;        // to be taken from those that are free; parts beyond it share them
  bool squeeze = false;      // in the place of a worker that died: on cores that are in use, when none is free
  uint64_t base_second = 0;  // of the run: where the workflow's clock begins
  uint64_t seed = 0;
  std::string bundle;                                // the hash of what the plan is made from
  Duration kill_grace = Duration::seconds(5);        // from being told to stop at once to being killed
  Duration isolation_limit = Duration::seconds(60);  // without a word of the job's owner
  // From its begin; then it has used its time, unless an owner gives it more.
  Duration execution_limit = Duration::hours(24);
  plan::OnOvertime on_overtime = plan::OnOvertime::kKill;
  // Of the job's context: how much of the job had ended when this was ordered. What was ordered with less is stale.
  uint64_t context_version = 0;
  std::vector<plan::Given> given = {};  // what the workflow uses of others
  // That its parts may begin between them, of a workflow which counts them.
  std::optional<uint64_t> iterations = std::nullopt;
  // Users that the workflow is to have, in all its parts, where somebody says that while it runs.
  std::optional<uint32_t> vus = std::nullopt;
  bool operator==(const ShareOrder&) const = default;
};

// "5.0 s", rounded up.
std::string seconds_text(Duration span);

enum class StopHow : uint8_t {
  kGraceful,  // iterations that run may finish, within the workflow's graceful_stop
  kAtOnce,    // and killed when that is ignored
};
inline constexpr std::size_t kStopHows = 2;

// How a share ended, as its worker says.
enum class ShareOutcome : uint8_t {
  kCompleted,
  kStopped,   // it was told to
  kAborted,   // a step with on_error: abort failed
  kFailed,    // it could not be prepared or begun
  kCrashed,   // its process ended by itself
  kKilled,    // it did not stop in time
  kIsolated,  // nobody who owns the job was heard of for isolation_limit
  kOvertime,  // it ran for longer than execution_limit
  kLeft,      // its worker leaves the cluster, in good order
  kTimedOut,  // the timeout of its workflow was over
};
inline constexpr std::size_t kShareOutcomes = 10;
std::string_view to_string(ShareOutcome outcome);

// Texts that the scripts of a share want told: at most so many of one share, and of a job.
inline constexpr std::size_t kMostNotes = 16;

struct ShareEnd {
  ShareOutcome outcome = ShareOutcome::kCompleted;
  std::string detail;                         // which step, which signal; for people
  uint64_t last_number = 0;                   // of its stream; 0: it has measured nothing
  Duration ran;                               // of the workflow's clock at its end
  std::vector<plan::Provided> provided = {};  // for other workflows
  std::vector<std::string> notes = {};        // of its scripts, each once
  std::vector<plan::Finding> findings = {};   // about its generator, by its own clock; at most kMostFindings
  bool operator==(const ShareEnd&) const = default;
};

// Where a share is in its life on a worker.
enum class SharePhase : uint8_t { kPreparing, kReady, kRunning, kEnded };
inline constexpr std::size_t kSharePhases = 4;
std::string_view to_string(SharePhase phase);

// What a worker knows of a share, for an owner who asks.
struct ShareSight {
  ShareId share;
  SharePhase phase = SharePhase::kPreparing;
  Duration clock;         // of the workflow, of one that was told to begin: how long ago that is; never 0 then
  uint64_t from = 0;      // the second of the run at which its stream begins, of one that has begun
  uint64_t measured = 0;  // number of its last second so far
  uint64_t until = 0;     // of one that hands over: the second of the run from which on its parts are others'
  ShareEnd end;           // of one that has ended
  bool operator==(const ShareSight&) const = default;
};

}  // namespace bellwether::dispatch
