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

namespace bellwether::node {

class WorkerRegistry {
 public:
  static constexpr std::size_t kMostWorkers = 10'000;
  // Without a report for so long a worker gets nothing new; whether it is dead, membership says.
  static constexpr Duration kFresh = Duration::seconds(5);

  struct Entry {
    dispatch::WorkerReport report;
    Instant heard;
    bool gone = false;  // by membership, until it reports again as another life, or membership changes its mind
  };

  // False: there is no room for one more.
  bool heard(Instant now, const std::string& name, dispatch::WorkerReport report);
  void gone(const std::string& name);
  void back(const std::string& name);

  const Entry* find(const std::string& name) const;
  std::size_t size() const { return workers_.size(); }

  // `asked`: cores of each worker that this manager's jobs stand for. `left_alone`: get nothing new for now.
  std::vector<dispatch::WorkerSight> sights(Instant now, const std::map<std::string, uint32_t>& asked,
                                            const std::set<std::string>& left_alone = {}) const;
  std::vector<dispatch::WorkerLine> lines(Instant now) const;
  // Forgets those that have been gone, or silent, for long.
  void sweep(Instant now);

 private:
  std::map<std::string, Entry> workers_;
};

}  // namespace bellwether::node
