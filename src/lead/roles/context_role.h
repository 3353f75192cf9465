// A manager that leads contexts when it leads its cluster (lead/context_driver/context_driver.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/node/node_roles.h"
#include "cluster/replication/job_store.h"
#include "cluster/vote/machine_load.h"
#include "election/context/context_settings.h"
#include "lead/context_driver/context_codec.h"
#include "lead/context_driver/context_driver.h"

namespace bellwether::node {

// The fitness of this node to lead contexts, by its own measurements.
struct ContextFigures {
  std::vector<std::string> capabilities;
  Duration uptime;
  vote::Resources resources;
  cluster::ContextWork work;
  double available_cpu = 0;                   // cores
  uint64_t available_memory = 0;              // bytes
  uint64_t available_storage = 0;             // bytes
  std::optional<uint64_t> network_bandwidth;  // bits per second; nothing where no device says it
};

// The figures of the machine: its resources, less those in use.
ContextFigures machine_figures(const cluster::MachineSize& size, const vote::Resources& resources);

// The score (election/context/fitness.h). Quality, accuracy and reliability are the portion of jobs that were done;
// speed is their duration. Missing measurements are not required: these three without any job, the portion of uptime,
// and the bandwidth if no device reports it. REQUIRES settings that validate.
cluster::ContextFitness fitness_of(const ContextFigures& figures, const context_lead::ContextSettings& settings);

class ContextRole final : public NodeRole {
 public:
  // `stores`: of this node, by a role before this one. `maker`: the context manager; nothing: requests wait for a
  // leader that has one.
  ContextRole(std::shared_ptr<const jobs::NodeStores> stores, std::unique_ptr<cluster::ContextManager> maker)
      : stores_(std::move(stores)), maker_(std::move(maker)) {}

  // Without an election in its node it does nothing.
  runtime::task<Status> prepare(const NodeTools& tools) override;
  runtime::task<void> run(runtime::Cancellation* cancel) override;
  runtime::task<void> wind_up(Instant deadline, runtime::Cancellation* cancel) override;
  bool works_while_leading() const override { return driver_ != nullptr; }
  void on_elected(const election::TermOfOffice& term) override {
    if (driver_ != nullptr) driver_->on_elected(term);
  }
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override {
    if (driver_ != nullptr) driver_->on_drain(cause);
  }
  void on_term_ended(const election::TermEnded& ended) override {
    if (driver_ != nullptr) driver_->on_term_ended(ended);
  }
  void on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) override;
  std::optional<double> context_fitness() const override;
  std::vector<Figure> figures() const override;

 private:
  std::map<std::string, double> node_healths() const;
  std::optional<cluster::ContextFitness> fitness(const cluster::ContextWork& work) const;
  void on_context_says(const std::string& event, const std::string& text, bool warning);

  std::shared_ptr<const jobs::NodeStores> stores_;
  std::unique_ptr<cluster::ContextManager> maker_;
  std::optional<NodeTools> tools_;
  Instant started_;
  std::unique_ptr<cluster::ContextDriver> driver_;
};

}  // namespace bellwether::node
