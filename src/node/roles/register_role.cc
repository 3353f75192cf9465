#include "node/roles/register_role.h"

#include "node/cluster/cluster_node.h"
#include "node/cluster/node_members.h"

namespace bellwether::node {

runtime::task<Status> RegisterRole::prepare(const NodeTools& tools) {
  const cluster::NodeConfig& config = tools.options.config;
  log_ = &tools.log;
  lines_ = std::make_unique<registers::Lines>(tools.port.links(), tools.port.switchboard(), tools.members, config.name,
                                              config.keepers);
  jobs::KeeperSettings keeping;
  keeping.first_start = tools.options.first_start;
  keeper_ = std::make_unique<jobs::JobKeeper>(tools.runtime, *tools.supplies.kv, *lines_, keeping, *this);
  co_return Status();
}

void RegisterRole::describe(QuorumView& view) const {
  if (keeper_ == nullptr) return;
  view.jobs = keeper_->jobs();
  view.jobs_unable = keeper_->unable();
}

}  // namespace bellwether::node
