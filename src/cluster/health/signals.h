// The health of one node, as the probes of an orchestrator see it, and as the nodes that give it work see it: three
// signals that are never mixed. Liveness: it answers. Readiness: it takes new work. Progress: it does what its schedule
// lets it do. Kernels without input and output; their callers pass them answers and reports.
//
// Progress is relative to the work that was possible, not to results. A worker whose target is frozen for ten minutes
// turns its loops, serves its due times and has no iteration that it could start: that is full progress. So is waiting
// because of pacing or think time. A manager's progress is its dispatches relative to the work that it could dispatch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/periodic.h"
#include "core/base/prng.h"
#include "core/base/time.h"

namespace bellwether::health {

enum class Progress : unsigned char { kIdle, kNormal, kSlow, kDegraded, kStuck };
// What to do with a node: give it work; look closer, and give it work; give it none until it is ready; give it none and
// wait for it for a limited time; take its work away.
enum class Routing : unsigned char { kRoute, kInvestigate, kHold, kDrain, kEvict };
std::string_view to_string(Progress progress);
std::string_view to_string(Routing routing);

struct SignalSettings {
  Duration liveness_timeout = Duration::seconds(30);
  double normal = 0.8;  // shares of the possible, from which on progress is normal, slow
  double slow = 0.3;
  // A node that did nothing of its possible work is stuck only after this number of such reports in a row: work that
  // became possible a moment before a report is no failure.
  unsigned stuck_reports = 3;
  Duration report_period = Duration::seconds(10);  // without a report for `stuck_reports` of them, work is stuck
  Duration drain_limit = Duration::seconds(60);    // after which a stuck node is evicted
};

// Of the time since the last report: the amount that was possible, and the amount done.
struct Work {
  uint64_t possible = 0;
  uint64_t done = 0;
};

// A node's report about itself.
struct Report {
  bool ready = false;
  bool has_work = false;
  std::array<Work, 3> work{};  // the worst of them counts; those of which nothing was possible do not
};

struct WorkerReport {
  bool accepting = false;
  uint32_t free_cores = 0;
  uint32_t workflows = 0;
  // Turns of its load loops, relative to one in 100 ms each; iterations that could start because a user and a time were
  // there; due times of arrivals that were started, or dropped and charged.
  Work loop_turns;
  Work iterations;
  Work due_times;
};
struct ManagerReport {
  bool has_quorum = false;
  bool accepting_jobs = false;
  uint32_t active_workers = 0;
  uint32_t jobs = 0;
  Work dispatches;  // assignments that were due and had room, and those that were dispatched
};
Report report_of(const WorkerReport& worker);
Report report_of(const ManagerReport& manager);

class NodeHealth {
 public:
  // A node that is new counts as alive, not ready and idle.
  NodeHealth(SignalSettings settings, Instant now);

  void answered(Instant now);  // a liveness probe
  void reported(Instant now, const Report& report);

  bool alive(Instant now) const { return now - last_answer_ < settings_.liveness_timeout; }
  bool ready() const { return report_.ready; }
  Progress progress(Instant now) const { return stuck_since(now) ? Progress::kStuck : reported_; }
  Routing routing(Instant now) const;

 private:
  Instant silent_from() const { return last_report_ + settings_.report_period * settings_.stuck_reports; }
  std::optional<Instant> stuck_since(Instant now) const;

  SignalSettings settings_;
  Instant last_answer_;
  Instant last_report_;
  Report report_;
  Progress reported_ = Progress::kIdle;
  unsigned nothing_done_ = 0;  // reports in a row
  std::optional<Instant> stuck_since_;
};

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
  void registered() {
    if (state_ == WorkerState::kRegistering) state_ = WorkerState::kHealthy;
  }
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

// The probes of an orchestrator (liveness, readiness, startup) as state machines: when to look, how long to wait, and
// how many results in a row change the verdict. The caller reports each outcome; no clock, no request.

struct ProbeSettings {
  Duration timeout;
  Duration period;
  unsigned failures = 3;  // in a row, that make it fail
  unsigned successes = 1;
};
inline constexpr ProbeSettings kLivenessProbe{Duration::seconds(1), Duration::seconds(10)};
inline constexpr ProbeSettings kReadinessProbe{Duration::seconds(2), Duration::seconds(10)};
inline constexpr ProbeSettings kStartupProbe{Duration::seconds(5), Duration::seconds(5), 30};

class Probe {
 public:
  // Looks for the first time at `now`. `passes` is the verdict until results say otherwise.
  Probe(ProbeSettings settings, bool passes, Instant now, Prng prng);

  // True when it is time to look: then passed() or failed() is to follow within the timeout, or tick() counts a
  // failure.
  bool tick(Instant now);
  void passed() { count(true); }
  void failed() { count(false); }

  Instant next_deadline() const { return looking_ ? look_until_ : next_; }
  bool passes() const { return passes_; }
  // Since the verdict was last the same: results in a row against it.
  unsigned against() const { return against_; }

 private:
  void count(bool passed);
  ProbeSettings settings_;
  Periodic period_;
  bool passes_;
  bool looking_ = false;
  Instant next_;
  Instant look_until_;
  unsigned against_ = 0;
};

// The three of a node. Until it has started, it is alive and not ready, however the other two probes end; a node that
// does not start within the startup probe's limit (150 s) is not alive.
class Probes {
 public:
  struct Settings {
    ProbeSettings liveness = kLivenessProbe;
    ProbeSettings readiness = kReadinessProbe;
    ProbeSettings startup = kStartupProbe;
  };
  Probes(Settings settings, Instant now, Prng prng);

  struct Due {
    bool startup = false;
    bool liveness = false;
    bool readiness = false;
  };
  // What to look at now.
  Due tick(Instant now);
  Instant next_deadline() const;
  void startup_result(Instant now, bool passed);
  void liveness_result(bool passed) { passed ? liveness_.passed() : liveness_.failed(); }
  void readiness_result(bool passed) { passed ? readiness_.passed() : readiness_.failed(); }

  bool started() const { return started_; }
  bool live() const { return started_ ? liveness_.passes() : startup_.passes(); }
  bool ready() const { return started_ && liveness_.passes() && readiness_.passes(); }

 private:
  Settings settings_;
  Prng prng_;
  bool started_ = false;
  Probe startup_;
  Probe liveness_;
  Probe readiness_;
};

}  // namespace bellwether::health
