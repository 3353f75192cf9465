// The health of a datacenter as a gate sees it, from the heartbeats of its managers. BUSY is no failure: all is well
// and all is in use, which passes by itself; DEGRADED is a structural loss; UNHEALTHY takes no work at all.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace bellwether::health {

enum class DatacenterHealth : unsigned char { kHealthy, kBusy, kDegraded, kUnhealthy };  // from best to worst
std::string_view to_string(DatacenterHealth health);

// The workers of a datacenter, as one of its managers counts them.
struct WorkerFigures {
  uint32_t registered = 0;
  uint32_t healthy = 0;
  uint32_t cores = 0;
  uint32_t free_cores = 0;  // of healthy workers only
};

// What a gate knows of one manager. All but `alive` comes with its heartbeat.
struct ManagerView {
  bool alive = false;
  bool ready = false;  // it has a quorum, takes jobs, and has workers
  bool stuck = false;
  bool has_quorum = false;
  bool is_leader = false;
  Instant heard;  // its last heartbeat
  WorkerFigures workers;
};

struct DatacenterVerdict {
  DatacenterHealth health = DatacenterHealth::kUnhealthy;
  std::string_view reason;  // for people; empty when it is healthy
  WorkerFigures workers;    // the figures that it was judged by
};

// All managers that are known in this datacenter, dead ones too. The worst that holds wins:
//   UNHEALTHY  no manager is alive, or no worker is registered
//   DEGRADED   no majority of the managers is alive, or ready; no manager has a quorum; one is stuck; no majority of
//   the
//              workers is healthy
//   BUSY       no core is free
// Workers are counted as the leader counts them, or as whoever was heard last when it is not alive.
DatacenterVerdict judge(const std::vector<ManagerView>& managers);

}  // namespace bellwether::health
