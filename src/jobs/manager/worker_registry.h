// The workers that have reported to a manager, and their free cores: as reported, less the cores that this manager has
// since requested. One thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/health/signals.h"
#include "core/base/time.h"
#include "jobs/dispatch/job_kernel.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::node {

// Whether a worker does what its schedule lets it do, according to its reports. Each assignment is judged alone,
// because a stuck one must not hide behind others, nor spoil their verdict. The worker's state is that of its worst
// assignment. All times are of this manager's clock and come in. One thread.
//
// Only a report evicts. So a manager that stood still itself first receives the present progress of the assignments.

// For one report a second; docs/cluster/health.md explains them.
inline constexpr health::SignalSettings kWorkerSignals{};
// Faster reports are merged: the possible work in a tenth of a second says little.
inline constexpr Duration kJudgedEvery = Duration::millis(900);
inline constexpr Duration kMaxSilent = Duration::seconds(5);  // after it a report evicts nothing

class WorkerProgress {
 public:
  explicit WorkerProgress(const health::SignalSettings& settings = kWorkerSignals) : settings_(settings) {}

  void reported(Instant now, const dispatch::WorkerReport& report);

  // Of a worker without work: idle.
  health::Progress progress(Instant now) const;
  // Whether it should get new work; kHold: it would accept none.
  health::Routing routing(Instant now) const;

  struct Stuck {
    std::string job;
    dispatch::AssignmentId assignment;
  };
  // Assignments that have been stuck up to the limit. Call it right after reported().
  std::vector<Stuck> to_evict(Instant now) const;

 private:
  struct Watched {
    health::NodeHealth health;
    dispatch::Headway judged;  // at the last verdict
    Instant at;                // time of that verdict
    bool may_evict = false;    // by that report
  };
  health::SignalSettings settings_;
  uint64_t life_ = 0;
  bool takes_work_ = false;
  std::map<std::pair<std::string, dispatch::AssignmentId>, Watched> assignments_;  // those that run
};

class WorkerRegistry {
 public:
  static constexpr std::size_t kMaxWorkers = 10'000;
  // Without a report for this time a worker gets no new work; membership decides whether it is dead.
  static constexpr Duration kFresh = Duration::seconds(5);

  struct Entry {
    dispatch::WorkerReport report;
    Instant heard;
    WorkerProgress progress;
    bool gone = false;  // according to membership, until it reports in another life, or membership changes its mind
    int lives = 1;      // that have reported since membership said that a process came
  };

  explicit WorkerRegistry(const health::SignalSettings& signals = kWorkerSignals) : signals_(signals) {}

  // False: too many workers.
  bool heard(Instant now, const std::string& name, dispatch::WorkerReport report);
  void gone(const std::string& name);
  void back(const std::string& name);
  // The life of the process of this name that has ended. Nothing if that is not known: one that has just started may
  // report before the news arrives that the one before it has left.
  std::optional<uint64_t> ended_life(const std::string& name) const;

  const Entry* find(const std::string& name) const;
  std::size_t size() const { return workers_.size(); }

  // A stuck worker gets no new work; a slow or degraded one only if nothing else is left. `asked`: cores of each worker
  // that this manager's jobs use. `left_alone`: workers without new work for now.
  std::vector<dispatch::WorkerSight> sights(Instant now, const std::map<std::string, uint32_t>& asked,
                                            const std::set<std::string>& left_alone = {}) const;
  std::vector<dispatch::WorkerLine> lines(Instant now) const;
  // Deletes workers that have not reported for 15 minutes.
  void sweep(Instant now);

 private:
  health::SignalSettings signals_;
  std::map<std::string, Entry> workers_;
};

// For people: why a job gets no cores of these.
std::string why_waiting(const std::vector<dispatch::WorkerLine>& workers);

}  // namespace bellwether::node
