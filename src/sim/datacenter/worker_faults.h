// Faults of the workers of a simulated datacenter that have load, and of their links to managers and witnesses. Each of
// them ends after a while. Each returns false if there is nothing to break.
#pragma once

#include <memory>
#include <vector>

#include "sim/datacenter/datacenter_place.h"
#include "sim/harness/machine_world.h"

namespace bellwether::sim {

class WorkerFaults {
 public:
  using Places = std::vector<std::unique_ptr<DatacenterPlace>>;

  // All outlive it.
  WorkerFaults(MachineWorld& home, World& world, const Places& places) : home_(home), world_(world), places_(places) {}

  bool kill_process();
  bool lose_power();
  // SIGSTOP of the process alone: the processes of its assignments go on.
  bool stop_process();
  // Its machine stands still, with all processes and links.
  bool stop_machine();
  // It gets turns now and then only.
  bool slow_down();
  // The same, and in the midst of it the process is stopped.
  bool slow_down_and_stop();
  bool kill_child();
  bool cut_off() { return cut(true, true); }
  bool cut_its_inputs() { return cut(true, false); }
  bool cut_its_outputs() { return cut(false, true); }
  // From the owner of a job, while all others reach both.
  bool cut_from_owner();
  bool cut_from_workers();
  // A worker is asked to leave. In the midst of its hand-over a worker is cut off from the owner, or the owner is
  // killed.
  bool leave_and_cut() { return leave(false); }
  bool leave_and_kill_owner() { return leave(true); }

  // The manager that owns most jobs; nullptr: none owns any.
  DatacenterPlace* owner() const;
  // All faults that last are over.
  void end();

 private:
  DatacenterPlace* busy();
  bool cut(bool inputs, bool outputs);
  void go_on_later(DatacenterPlace& place, Duration after);
  void stutter(DatacenterPlace& place, Instant end);
  bool leave(bool kills_owner);
  void on_take_over();

  MachineWorld& home_;
  World& world_;
  const Places& places_;
  DatacenterPlace* leaving_ = nullptr;  // until somebody takes over from it
  bool kills_owner_ = false;            // then
  uint64_t slow_ = 0;                   // faults of this kind that are over, and the present one
};

}  // namespace bellwether::sim
