// All that is known of a job, as its register keeps it: written by its owner, accepted by a quorum before anybody acts
// on it, and enough for another manager to go on. What was measured is kept elsewhere (jobs/account/run_account.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "jobs/dispatch/job_states.h"
#include "jobs/dispatch/share.h"
#include "load/plan/finding.h"

namespace bellwether::dispatch {

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
