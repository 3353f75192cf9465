// Assignments without child processes, for simulated workers. Each reports the seconds of a made-up load, all of them
// different and recorded, so that a checker knows what should be counted. They prepare for a while, may fail, crash, or
// ignore a stop order, and end about when their plan does.
#pragma once

#include <memory>
#include <set>
#include <utility>

#include "jobs/assignment/assignment_process.h"
#include "sim/datacenter/datacenter_place.h"

namespace bellwether::sim {

class SimAssignment;

class SimAssignments final : public node::AssignmentFactory {
 public:
  // Both must outlive it.
  SimAssignments(runtime::Runtime& runtime, DatacenterPlace& place) : runtime_(runtime), place_(place) {}
  SimAssignments(const SimAssignments&) = delete;
  SimAssignments& operator=(const SimAssignments&) = delete;

  std::unique_ptr<node::AssignmentProcess> start(node::ChildOrder order,
                                                 node::AssignmentProcess::Listener listener) override;

 private:
  friend class SimAssignment;
  using Key = std::pair<std::string, uint32_t>;  // job, assignment

  Key key_of(const JobStory& job) const;

  runtime::Runtime& runtime_;
  DatacenterPlace& place_;
  std::set<Key> alive_;
};

}  // namespace bellwether::sim
