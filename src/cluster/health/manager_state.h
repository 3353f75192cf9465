// Whether a manager knows enough to hand out cores, and whether it still does.
//
//   SYNCING → ACTIVE → DRAINING
//
// One that has just begun has heard of few workers or of none: what it handed out then would crowd on those that were
// the first to report, and what it has not read of the registers it cannot see. It waits for both, as long as a manager
// that asks three times would, after 0.5, 1 and 2 seconds, and goes on without what has not come: a worker that never
// reports must not stop the others. A manager that has been there all along and begins to lead knows its workers.
//
// A kernel: looks go in, the state comes out.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace bellwether::health {

enum class ManagerState : unsigned char { kSyncing, kActive, kDraining };
std::string_view to_string(ManagerState state);

struct ManagerStateSettings {
  Duration least = Duration::millis(500);    // since the first look; who is there must be known first
  Duration limit = Duration::millis(3'500);  // since the first look: 0.5 + 1 + 2 s
};

class ManagerStates {
 public:
  explicit ManagerStates(ManagerStateSettings settings = {}) : settings_(settings) {}

  // What it sees of the moment, from its begin on; only counts while it is syncing. `unheard`: of the `workers` that
  // are alive.
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
  // For people: what it waits for, or has gone on without; empty when there is nothing to say.
  const std::string& reason() const { return reason_; }

 private:
  ManagerStateSettings settings_;
  std::optional<Instant> began_;
  ManagerState state_ = ManagerState::kSyncing;
  std::string reason_;
};

}  // namespace bellwether::health
