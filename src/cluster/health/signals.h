// The health of one node as the nodes that give it work see it: three signals that are never mixed. Liveness: it
// answers. Readiness: it takes new work. Progress: it does what its schedule lets it do. A kernel without input and
// output; its caller passes it answers and reports.
//
// Progress is relative to the work that was possible, not to results. A worker whose target is frozen for ten minutes
// turns its loops, serves its due times and has no iteration that it could start: that is full progress. So is waiting
// because of pacing or think time. A manager's progress is its dispatches relative to the work that it could dispatch;
// a gate's is the jobs that it forwarded relative to those that it could forward.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

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
struct GateReport {
  uint32_t connected_datacenters = 0;
  bool overloaded = false;  // stressed or worse
  uint32_t jobs = 0;
  Work forwards;
};
Report report_of(const WorkerReport& worker);
Report report_of(const ManagerReport& manager);
Report report_of(const GateReport& gate);

class NodeHealth {
 public:
  // A node that is new counts as alive, not ready and idle.
  NodeHealth(SignalSettings settings, Instant now);

  void answered(Instant now);  // a liveness probe
  void reported(Instant now, const Report& report);

  bool alive(Instant now) const;
  bool ready() const { return report_.ready; }
  Progress progress(Instant now) const;
  Routing routing(Instant now) const;
  // When routing() may change without news; never() when it cannot.
  Instant next_change(Instant now) const;

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

}  // namespace bellwether::health
