// A worker: it makes load for whoever owns the jobs (node/worker).
#pragma once

#include <memory>
#include <string>

#include "cluster/node_config.h"
#include "node/cluster/node_role.h"
#include "node/share/child_share.h"
#include "node/worker/worker_service.h"

namespace bellwether::node {

class WorkerRole final : public NodeRole {
 public:
  // All must outlive it. kInvalid: more cores than this process may use; errors of read_keyring().
  static Result<std::unique_ptr<WorkerRole>> make(runtime::Runtime& runtime, cluster::PeerLinks& links,
                                                  cluster::Switchboard& switchboard, const Managers& managers,
                                                  const cluster::NodeConfig& config, WorkerService::Listener& listener);

  runtime::task<void> run(runtime::Cancellation* cancel) override;
  runtime::task<void> wind_up(Instant deadline, runtime::Cancellation* cancel) override;
  runtime::task<bool> drain(runtime::Cancellation* cancel) override;
  void on_vital_signs(const cluster::VitalSigns& signs, int health_score) override {
    service_.sample(signs, health_score);
  }

 private:
  WorkerRole(runtime::Runtime& runtime, cluster::PeerLinks& links, cluster::Switchboard& switchboard,
             const Managers& managers, WorkerSettings settings, WorkerService::Listener& listener)
      : shares_(runtime), service_(runtime, links, switchboard, managers, shares_, std::move(settings), listener) {}

  ChildShares shares_;
  WorkerService service_;
};

}  // namespace bellwether::node
