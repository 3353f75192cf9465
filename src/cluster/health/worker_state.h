// The state that a worker reports of itself: whether, and how readily, it takes work. It depends on the needs of its
// control plane, never on the load that it makes: a generator at full speed uses all of its load cores by design, and
// the report of the run says so, not this state.
//
//   REGISTERING → HEALTHY ⇄ DEGRADED → DRAINING → HEALTHY or DEGRADED, once its work is done and nothing is critical
//   any of them → OFFLINE
//
// A kernel: samples go in about once a second, the state comes out. A state gets worse after two samples in a row that
// say so, and better after five, with a margin between, so that it does not flap. A worker that drained goes on as the
// worst of those five: on a machine that is never quite quiet it would else never work again.
#pragma once

#include <string_view>

#include "core/base/time.h"

namespace bellwether::health {

enum class WorkerState : unsigned char { kRegistering, kHealthy, kDegraded, kDraining, kOffline };
std::string_view to_string(WorkerState state);

struct WorkerSample {
  double control_cpu = 0;  // use of the cores that are not assigned to load, in [0, 1]
  Duration loop_lag;       // of the control thread's loop
  Duration run_delay;      // the control thread's recent waits for a core
  double memory = 0;       // used part of its limit, in [0, 1]
  double descriptors = 0;  // in [0, 1]
  double queue = 0;        // queue depth relative to its soft limit; 1 is at the limit
  int health_score = 0;    // local health multiplier, 0 to 8
};

// The bounds of a degraded and of a critical state.
struct Pressure {
  double degraded = 0;
  double critical = 0;
};
struct WorkerStateSettings {
  Pressure control_cpu{0.80, 0.95};
  Pressure delay_s{0.2, 2.0};  // of the loop, or for a core
  Pressure memory{0.85, 0.95};
  Pressure descriptors{0.85, 0.95};
  Pressure queue{1.0, 4.0};
  Pressure health_score{4, 7};
  double margin = 0.9;  // relief begins below this share of a bound
  unsigned worse_after = 2;
  unsigned better_after = 5;
};

class WorkerStates {
 public:
  explicit WorkerStates(WorkerStateSettings settings = {}) : settings_(settings) {}

  // A manager has acknowledged the registration; it was lost.
  void registered();
  void unregistered();
  // `has_work`: workflows run. Counts while registered.
  void sample(const WorkerSample& sample, bool has_work);
  // It is to end: no new work; sample() returns OFFLINE once the last workflow has ended.
  void shut_down();
  // It cannot go on.
  void failed() { state_ = WorkerState::kOffline; }

  WorkerState state() const { return state_; }
  // DEGRADED takes work, but reluctantly.
  bool takes_work() const { return state_ == WorkerState::kHealthy || state_ == WorkerState::kDegraded; }
  // The greatest pressure, for people: "memory"; empty without one.
  std::string_view reason() const { return reason_; }

 private:
  enum class Level : unsigned char { kFine, kDegraded, kCritical };
  Level level_of(const WorkerSample& sample, double ratio);
  WorkerStateSettings settings_;
  WorkerState state_ = WorkerState::kRegistering;
  bool shutting_down_ = false;
  unsigned worse_ = 0;
  unsigned better_ = 0;
  Level worst_relieved_ = Level::kFine;  // of the samples that better_ counts
  std::string_view reason_;
};

}  // namespace bellwether::health
