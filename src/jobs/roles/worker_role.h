// A worker: it makes load for whoever owns the jobs (node/worker).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/net/node_config.h"
#include "cluster/node/node_role.h"
#include "jobs/share/share_process.h"
#include "jobs/worker/worker_service.h"

namespace bellwether::node {

// As the settings of a node have them, on this machine. Waits for the disk. kInvalid: more cores than this process may
// use; errors of read_keyring().
Result<WorkerSettings> local_worker_settings(const cluster::NodeConfig& config);

class WorkerRole final : public NodeRole, public Managers, public WorkerService::Listener {
 public:
  WorkerRole(WorkerSettings settings, std::unique_ptr<ShareFactory> shares)
      : settings_(std::move(settings)), shares_(std::move(shares)) {}

  runtime::task<Status> prepare(const NodeTools& tools) override;
  runtime::task<void> run(runtime::Cancellation* cancel) override { return service_->run(cancel); }
  runtime::task<void> wind_up(Instant deadline, runtime::Cancellation* cancel) override;
  bool drains() const override { return true; }
  runtime::task<bool> drain(runtime::Cancellation* cancel) override;
  void on_vital_signs(const cluster::VitalSigns& signs, int health_score) override {
    service_->sample(signs, health_score);
  }
  // After prepare().
  const WorkerService& service() const { return *service_; }

 private:
  std::vector<cluster::PeerAddress> managers() const override;
  void on_worker_note(bool warning, const std::string& text) override { log_->note(warning, text); }

  WorkerSettings settings_;
  std::unique_ptr<ShareFactory> shares_;
  const NodeMembers* members_ = nullptr;
  NodeLog* log_ = nullptr;
  std::unique_ptr<WorkerService> service_;
};

}  // namespace bellwether::node
