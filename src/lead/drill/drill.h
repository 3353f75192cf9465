// A rehearsal of takeovers: starts several candidates of one loop, lets them act, breaks the present leader again and
// again, and measures how long the loop stands still. The measured time is the promised one (policy sheet, budget.h).
// Attached to candidates that run already, it breaks those, and measures by the state of the key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/task.h"
#include "lead/policy/policy.h"

namespace bellwether::lead {

// The processes that a drill breaks: its own, or existing ones.
class DrillTargets {
 public:
  virtual ~DrillTargets() = default;
  virtual runtime::task<Status> start() = 0;
  // Breaks the one with this name; kNotFound when it does not exist, or cannot be reached from here.
  virtual runtime::task<Status> break_one(std::string holder, uint64_t epoch) = 0;
  // Repairs the broken holder, as far as possible from here.
  virtual runtime::task<Status> repair() = 0;
  // The end: nothing stays broken that this could mend, and nothing stays that start() began.
  virtual runtime::task<void> stop() = 0;
  // The file for notes of their acts (candidates.h); empty: none.
  virtual std::string act_file() const = 0;
};

enum class DrillFault : unsigned char {
  kKill,     // SIGKILL
  kPause,    // SIGSTOP until another has taken over, which is beyond the TTL; then SIGCONT
  kCut,      // nothing passes between it and its store until another has taken over
  kCommand,  // the effect of an operator's command
};
const char* to_string(DrillFault fault);

struct DrillOptions {
  std::string policy_file;  // for the candidates, which read it themselves
  LoopPolicy loop;          // with a store
  DrillFault fault = DrillFault::kKill;
  std::size_t rounds = 5;
  std::size_t candidates = 3;
  std::string suffix = ":drill";  // of the lock key: the real loop goes on beside the drill
  std::string command;            // also run in each tick, beside the acts that are measured; a shell command
  Duration operation = Duration::millis(50);  // of the store, p99, for the budget
  bool quiet = false;                         // no progress on standard error
  std::string scenario;                       // load that runs beside all rounds, by `bellwether run`; empty: none

  // Attached: the loop's own key and the processes that stand for it now; neither `candidates` nor `suffix` count.
  bool attach = false;
  std::vector<std::pair<std::string, int64_t>> pids;  // of holders whose name is not HOST:PID
  std::string break_command;                          // kCommand, for a shell
  std::string repair_command;                         // for a shell, after each round; empty: nothing
  std::string acts;  // file of the candidates' acts (candidates.h); empty: none is kept
};

struct DrillRound {
  std::string old_holder;
  uint64_t old_epoch = 0;
  std::string new_holder;
  uint64_t new_epoch = 0;
  bool taken_over = false;
  Duration from_fault;  // until the first act of the new leader; without one: how long it was waited for
  Duration idle;        // from the last act of the old leader to the first of the new one
};

// The results of the load beside the drill.
struct DrillLoad {
  uint64_t requests = 0;
  uint64_t failed = 0;
  std::string error;  // why it says nothing
};

struct DrillReport {
  std::vector<DrillRound> rounds;
  Duration worst_budget;
  std::string arithmetic;
  std::optional<Duration> slo;
  Duration limit;  // the promise of the sheet, or else the budget
  uint64_t acts = 0;
  uint64_t overlaps = 0;
  bool acts_known = true;  // else only the key was watched: `acts` counts its changes
  std::optional<DrillLoad> load;
  bool epochs_grew = true;
  bool interrupted = false;  // by a signal
  std::string error;         // why it could not go on

  bool within() const;
};

// Nothing of it is left when this returns. REQUIRES that no other thread runs yet.
DrillReport run_drill(runtime::EpollRuntime& runtime, const DrillOptions& options);

}  // namespace bellwether::lead
