// Assignments without child processes, for simulated workers. Each reports the seconds of a made-up load, all of them
// different and recorded, so that a checker knows what should be counted. They prepare for a while, may fail, crash, or
// ignore a stop order, and end about when their plan does.
#pragma once

#include <memory>
#include <set>
#include <utility>

#include "jobs/share/share_process.h"
#include "sim/datacenter/datacenter_place.h"

namespace bellwether::sim {

class SimShare;

class SimShares final : public node::ShareFactory {
 public:
  // Both must outlive it.
  SimShares(runtime::Runtime& runtime, DatacenterPlace& place) : runtime_(runtime), place_(place) {}
  SimShares(const SimShares&) = delete;
  SimShares& operator=(const SimShares&) = delete;

  std::unique_ptr<node::ShareProcess> start(node::ChildOrder order, node::ShareProcess::Listener listener) override;

 private:
  friend class SimShare;
  using Key = std::pair<std::string, uint32_t>;  // job, share

  Key key_of(const JobStory& job) const;

  runtime::Runtime& runtime_;
  DatacenterPlace& place_;
  std::set<Key> alive_;
};

}  // namespace bellwether::sim
