// How fit this node is to lead contexts, by what it has measured of itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/vote/machine_load.h"
#include "election/context/context_settings.h"
#include "lead/context_driver/context_codec.h"

namespace bellwether::node {

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

// Those of the machine: what there is of it, less what is in use.
ContextFigures machine_figures(const cluster::MachineSize& size, const vote::Resources& resources);

// The score (election/context/fitness.h). Quality, accuracy and reliability are the share of jobs that were done,
// speed is how long they took. What is not measured is not required either: these without any job, the share of
// uptime, and the bandwidth where no device says it. REQUIRES settings that validate.
cluster::ContextFitness fitness_of(const ContextFigures& figures, const context_lead::ContextSettings& settings);

}  // namespace bellwether::node
