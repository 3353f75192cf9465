// The workers that a manager has heard of, and what of their cores is free: as they say, and less what this manager has
// asked them for and they have not said yet. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/health/signals.h"
#include "core/base/time.h"
#include "jobs/dispatch/job_desk.h"
#include "jobs/dispatch/letters.h"

namespace bellwether::node {

// Whether a worker does what its schedule lets it do, from its reports: judged share by share, for one that stands
// still must not hide behind others, nor take others along. The worker is as good as the worst of them. Nobody's clock
// but this manager's; time comes in. One thread.
//
// Only a report evicts. So a manager that stood still itself, and finds that much time has passed, hears first how far
// the shares have come meanwhile.

// For reports of one a second; docs/cluster/health.md has them in words.
inline constexpr health::SignalSettings kWorkerSignals{};
// Reports that come faster are put together: what is possible in a tenth of a second says little.
inline constexpr Duration kJudgedEvery = Duration::millis(900);
inline constexpr Duration kSilentMost = Duration::seconds(5);  // beyond it a report evicts nobody

class WorkerProgress {
 public:
  explicit WorkerProgress(const health::SignalSettings& settings = kWorkerSignals) : settings_(settings) {}

  void reported(Instant now, const dispatch::WorkerReport& report);

  // Of a worker that has nothing to do: idle.
  health::Progress progress(Instant now) const;
  // Whether it is to get something new; kHold: it would take nothing.
  health::Routing routing(Instant now) const;

  struct Stuck {
    std::string job;
    dispatch::ShareId share;
  };
  // Shares that have been stuck for as long as is waited for. To be asked right after reported().
  std::vector<Stuck> to_evict(Instant now) const;

 private:
  struct Watched {
    health::NodeHealth health;
    dispatch::Headway judged;  // what the last verdict has seen
    Instant at;                // of that verdict
    bool may_evict = false;    // by that report
  };
  health::SignalSettings settings_;
  uint64_t life_ = 0;
  bool takes_work_ = false;
  std::map<std::pair<std::string, dispatch::ShareId>, Watched> shares_;  // those that run
};

class WorkerRegistry {
 public:
  static constexpr std::size_t kMostWorkers = 10'000;
  // Without a report for so long a worker gets nothing new; whether it is dead, membership says.
  static constexpr Duration kFresh = Duration::seconds(5);

  struct Entry {
    dispatch::WorkerReport report;
    Instant heard;
    WorkerProgress progress;
    bool gone = false;  // by membership, until it reports again as another life, or membership changes its mind
  };

  explicit WorkerRegistry(const health::SignalSettings& signals = kWorkerSignals) : signals_(signals) {}

  // False: there is no room for one more.
  bool heard(Instant now, const std::string& name, dispatch::WorkerReport report);
  void gone(const std::string& name);
  void back(const std::string& name);

  const Entry* find(const std::string& name) const;
  std::size_t size() const { return workers_.size(); }

  // Who is stuck gets nothing new; who is slow or degraded, when there is no other way. `asked`: cores of each worker
  // that this manager's jobs stand for. `left_alone`: get nothing new for now.
  std::vector<dispatch::WorkerSight> sights(Instant now, const std::map<std::string, uint32_t>& asked,
                                            const std::set<std::string>& left_alone = {}) const;
  std::vector<dispatch::WorkerLine> lines(Instant now) const;
  // Forgets those that have been gone, or silent, for long.
  void sweep(Instant now);

 private:
  health::SignalSettings signals_;
  std::map<std::string, Entry> workers_;
};

// For people: why a job gets no cores of these.
std::string why_waiting(const std::vector<dispatch::WorkerLine>& workers);

}  // namespace bellwether::node
