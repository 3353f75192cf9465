// The roles of nodes for jobs: replica of registers, manager, worker. One thread, that of the node's runtime.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/net/node_config.h"
#include "cluster/node/node_roles.h"
#include "cluster/replication/blob_replica.h"
#include "cluster/replication/blobs.h"
#include "cluster/replication/etcd_job_store.h"
#include "cluster/replication/job_store.h"
#include "cluster/replication/register_replica.h"
#include "cluster/replication/replica_changes.h"
#include "core/runtime/event.h"
#include "jobs/assignment/assignment_process.h"
#include "jobs/manager/manager_service.h"
#include "jobs/worker/worker_service.h"

namespace bellwether::node {

// Of a manager or gate with a disk for a replica of the jobs' registers, unless an etcd has them. It is a replica while
// the set of replicas names it (cluster/replication/register_replica.h).
class RegisterRole final : public NodeRole {
 public:
  runtime::task<Status> prepare(const NodeTools& tools) override;
  runtime::task<void> run(runtime::Cancellation* cancel) override { return replica_->run(cancel); }
  using NodeRole::describe;
  void describe(QuorumView& view) const override;

  // After prepare().
  registers::Lines& lines() { return *lines_; }
  const jobs::RegisterReplica& replica() const { return *replica_; }

 private:
  std::unique_ptr<registers::Lines> lines_;
  std::unique_ptr<jobs::RegisterReplica> replica_;
};

// A manager with a disk for the jobs' registers, or at least their blobs. It owns jobs while the set of replicas names
// it.
class ManagerRole final : public NodeRole {
 public:
  // `kv`: for the blobs alone, because votes must not wait for megabytes. `registers`: of this node, and before this
  // role among its roles; nothing: an etcd has them.
  ManagerRole(std::unique_ptr<cluster::Kv> kv, std::shared_ptr<RegisterRole> registers, ManagerSettings settings = {})
      : kv_(std::move(kv)), registers_(std::move(registers)), settings_(settings) {}

  // Error: the settings of etcd are wrong.
  runtime::task<Status> prepare(const NodeTools& tools) override;
  runtime::task<void> run(runtime::Cancellation* cancel) override;
  runtime::task<void> wind_up(Instant deadline, runtime::Cancellation* cancel) override;
  void on_ended(const std::string& name, const std::string& why) override;
  void on_gone(const std::string& name, const std::string& why) override;
  void on_there(const std::string& name) override;
  std::string obstacle() const override;
  void describe(QuorumView& view) const override;
  void describe(ManagersView& view) const override;
  Status change_managers(bool add, const std::string& name) override;
  std::string progress() const override;
  std::vector<Figure> figures() const override;

  // Its storage; the result keeps the role alive.
  static std::shared_ptr<const jobs::NodeStores> stores_of(const std::shared_ptr<ManagerRole>& manager) {
    return {manager, &manager->stores_};
  }
  // After prepare().
  const ManagerService& service() const { return work_->service; }

 private:
  // Its view of the cluster.
  class Around final : public ClusterView {
   public:
    Around(const NodeTools& tools, const ManagerRole& role) : tools_(tools), role_(role) {}
    std::optional<cluster::PeerAddress> find(const std::string& name) const override;
    std::string self() const override;
    std::string leader_name() const override;
    bool leads() const override;
    bool keeps_jobs() const override;
    std::vector<std::string> keepers() const override;
    std::vector<std::string> manager_names() const override;
    bool is_gone(const std::string& name) const override;
    std::vector<Neighbour> neighbours() const override;
    bool is_suspect(const std::string& name) const override;

   private:
    const NodeTools& tools_;
    const ManagerRole& role_;
  };
  // The parts of its work on its node.
  struct Work {
    const NodeTools tools;
    Around around;
    std::unique_ptr<registers::Lines> own_lines;  // if its node has no registers
    registers::Lines& lines;
    blobs::BlobReplica blob_replica;
    blobs::Blobs blobs;
    std::unique_ptr<jobs::JobStore> store;
    std::unique_ptr<jobs::EtcdJobView> etcd;  // nothing: this node's replica has the view
    const jobs::JobView& view;
    registers::ReplicaChanges changes;
    FileStore files;
    ManagerService service;
    Work(const NodeTools& tools, ManagerRole& role, std::unique_ptr<jobs::JobStore> registers,
         std::unique_ptr<jobs::EtcdJobView> view);
  };

  std::vector<std::string> live_managers() const { return work_->around.manager_names(); }
  bool moves_replicas() const;
  std::optional<std::vector<std::string>> voters() const;
  void on_job_says(const std::string& job, const std::string& event, const std::string& text, bool warning);

  std::unique_ptr<cluster::Kv> kv_;
  std::shared_ptr<RegisterRole> registers_;
  ManagerSettings settings_;
  std::unique_ptr<Work> work_;
  jobs::NodeStores stores_;
  runtime::Cancellation winding_up_;
  bool ended_ = false;  // its service has ended
  runtime::Condition ended_changed_;
};

// A worker: it makes load for the owners of jobs (node/worker).

// From the settings of a node, on this machine. Waits for the disk. kInvalid: more cores than this process may use;
// errors of read_keyring().
Result<WorkerSettings> local_worker_settings(const cluster::NodeConfig& config);

class WorkerRole final : public NodeRole {
 public:
  WorkerRole(WorkerSettings settings, std::unique_ptr<AssignmentFactory> assignments)
      : settings_(std::move(settings)), assignments_(std::move(assignments)) {}

  runtime::task<Status> prepare(const NodeTools& tools) override;
  runtime::task<void> run(runtime::Cancellation* cancel) override { return service_->run(cancel); }
  runtime::task<void> wind_up(Instant deadline, runtime::Cancellation* cancel) override;
  std::vector<Figure> figures() const override;
  bool drains() const override { return true; }
  runtime::task<bool> drain(runtime::Cancellation* cancel) override;
  void on_resource_usage(const cluster::ResourceUsage& signs, int health_score) override {
    service_->sample(signs, health_score);
  }
  // After prepare().
  const WorkerService& service() const { return *service_; }

 private:
  std::vector<cluster::PeerAddress> managers() const;

  WorkerSettings settings_;
  std::unique_ptr<AssignmentFactory> assignments_;
  const NodeMembers* members_ = nullptr;  // after prepare()
  std::unique_ptr<FileStore> files_;
  std::unique_ptr<WorkerService> service_;
};

}  // namespace bellwether::node
