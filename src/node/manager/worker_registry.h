// The workers that a manager has heard of, and what of their cores is free: as they say, and less what this manager has
// asked them for and they have not said yet. One thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "dispatch/job.h"
#include "dispatch/letters.h"
#include "node/manager/worker_progress.h"

namespace bellwether::node {

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
