// Whether a worker does what its schedule lets it do, from its reports: judged share by share, for one that stands
// still must not hide behind others, nor take others along. The worker is as good as the worst of them. Nobody's clock
// but this manager's; time comes in. One thread.
//
// Only a report evicts. So a manager that stood still itself, and finds that much time has passed, hears first how far
// the shares have come meanwhile.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dispatch/letters.h"
#include "health/signals.h"

namespace bellwether::node {

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

}  // namespace bellwether::node
