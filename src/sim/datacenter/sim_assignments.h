// Assignments without child processes, for simulated workers. Each reports the seconds of a made-up load, all of them
// different and recorded, so that a checker knows what should be counted. They prepare for a while, may fail, crash, or
// ignore a stop order, and end about when their plan does. Their load belongs to the machine, not to the process of the
// worker: it goes on while that process gets no turns, until the permit ends, and it stands still with the machine.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "jobs/assignment/assignment_process.h"
#include "sim/datacenter/datacenter_place.h"

namespace bellwether::sim {

class SimAssignment;

class SimAssignments final : public node::AssignmentFactory {
 public:
  // Both must outlive it.
  SimAssignments(runtime::Runtime& runtime, DatacenterPlace& place) : runtime_(runtime), place_(place) {
    place_.assignments = this;
  }
  ~SimAssignments() override { place_.assignments = nullptr; }
  SimAssignments(const SimAssignments&) = delete;
  SimAssignments& operator=(const SimAssignments&) = delete;

  std::unique_ptr<node::AssignmentProcess> start(node::ChildOrder order,
                                                 node::AssignmentProcess::Listener listener) override;

  // --- for the world, outside of the turns of the worker's process
  // All of them have sent what was due until now: before the clocks of the machine change.
  void advance();
  // The machine stands still, and goes on.
  void freeze();
  void thaw();
  // Somebody kills the process of one that sends load. False: none does.
  bool kill_one(Prng& prng);

 private:
  friend class SimAssignment;
  using Key = std::pair<std::string, uint32_t>;  // job, assignment

  Key key_of(const JobStory& job) const;
  static void bury(void* self);

  runtime::Runtime& runtime_;
  DatacenterPlace& place_;
  std::map<Key, SimAssignment*> alive_;
};

}  // namespace bellwether::sim
