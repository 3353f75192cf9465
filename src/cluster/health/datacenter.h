// The health of a datacenter as a gate sees it, from the heartbeats of its managers. BUSY is no failure: all cores are
// in use, which passes by itself. DEGRADED is a structural loss. UNHEALTHY takes no work at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace bellwether::health {

// Whether a manager knows enough to hand out cores, and whether it still does.
//
//   SYNCING → ACTIVE → DRAINING
//
// A manager that has just begun has heard of few workers or of none. It would overload the first that reported, and it
// cannot see registers that it has not read. It waits for both for the time of three requests, after 0.5, 1 and 2
// seconds, and goes on without the missing ones: a worker that never reports must not stop the others. A manager that
// was there all along and begins to lead knows its workers.
//
// A kernel: looks go in, the state comes out.
enum class ManagerState : unsigned char { kSyncing, kActive, kDraining };
std::string_view to_string(ManagerState state);

struct ManagerStateSettings {
  Duration least = Duration::millis(500);    // since the first look: the members must be known first
  Duration limit = Duration::millis(3'500);  // since the first look: 0.5 + 1 + 2 s
};

class ManagerStates {
 public:
  explicit ManagerStates(ManagerStateSettings settings = {}) : settings_(settings) {}

  // Its view of the moment, from its begin on; only counts while it is syncing. `unheard`: of the `workers` that are
  // alive.
  struct Sight {
    bool registers_read = false;
    std::size_t workers = 0;
    std::size_t unheard = 0;
  };
  // True: it has become active.
  bool look(Instant now, const Sight& sight);
  // It is to end; for good.
  void leave() { state_ = ManagerState::kDraining; }

  ManagerState state() const { return state_; }
  bool hands_out() const { return state_ == ManagerState::kActive; }
  // For people: the data that it waits for, or continues without; else empty.
  const std::string& reason() const { return reason_; }

 private:
  ManagerStateSettings settings_;
  std::optional<Instant> began_;
  ManagerState state_ = ManagerState::kSyncing;
  std::string reason_;
};

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

// `managers`: all that are known in this datacenter, dead ones too. The worst state that holds wins:
//   UNHEALTHY  no manager is alive, or no worker is registered
//   DEGRADED   no majority of the managers is alive, or ready; no manager has a quorum; one is stuck;
//              no majority of the workers is healthy
//   BUSY       no core is free
// Workers are counted as the leader counts them, or, if it is not alive, as the manager heard last counts them.
DatacenterVerdict judge(const std::vector<ManagerView>& managers);

}  // namespace bellwether::health
