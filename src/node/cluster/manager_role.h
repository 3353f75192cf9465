// A manager that keeps jobs, their registers or at least their copies, and has jobs in hand (node/manager).
#pragma once

#include <memory>
#include <string>

#include "cluster/copies/copies.h"
#include "cluster/copies/copy_keeper.h"
#include "cluster/jobs/etcd_job_view.h"
#include "cluster/jobs/job_keeper.h"
#include "cluster/jobs/job_store.h"
#include "cluster/node_config.h"
#include "node/cluster/node_role.h"
#include "node/manager/manager_service.h"

namespace bellwether::node {

class ManagerRole final : public NodeRole {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    cluster::PeerLinks& links;
    cluster::Switchboard& switchboard;
    Surroundings& surroundings;
    // Of the quorum that has the registers; nullptr when an etcd has them.
    jobs::JobLines* lines;
    const jobs::JobKeeper* keeper;
    ManagerService::Listener& listener;
    copies::CopyKeeper::Listener& notes;
    jobs::EtcdJobView::Listener& etcd_notes;
  };
  // All parts must outlive it. An error: its disk cannot be used, or what it was told of etcd is wrong.
  static runtime::task<Result<std::unique_ptr<NodeRole>>> make(Parts parts, const cluster::NodeConfig& config,
                                                               bool first_start);

  runtime::task<void> run(runtime::Cancellation* cancel) override;
  runtime::task<void> wind_up(Instant deadline, runtime::Cancellation* cancel) override;
  void on_gone(const std::string& name, const std::string& why) override { service_.on_worker_gone(name, why); }
  void on_there(const std::string& name) override { service_.on_worker_back(name); }
  jobs::JobStore& store() { return *registers_.store; }
  copies::Copies& copies() { return copies_; }
  std::string obstacle() const override;
  std::string state() const override;
  std::string refuses_jobs() const override;
  std::string progress() const override { return std::string(to_string(service_.progress())); }
  std::vector<Figure> figures() const override;

 private:
  struct Registers {
    std::unique_ptr<jobs::JobStore> store;
    std::unique_ptr<jobs::EtcdJobView> etcd;  // nothing: this node's keeper has the view
  };
  static runtime::task<Result<Registers>> open_registers(const Parts& parts, const cluster::NodeConfig& config);
  ManagerRole(Parts parts, const cluster::NodeConfig& config, bool first_start, std::unique_ptr<cluster::Kv> kv,
              Registers registers);

  Parts parts_;
  std::unique_ptr<cluster::Kv> kv_;
  copies::CopyLines copy_lines_;
  copies::CopyKeeper copy_keeper_;
  copies::Copies copies_;
  Registers registers_;
  ManagerService service_;
  runtime::Cancellation winding_up_;
};

}  // namespace bellwether::node
