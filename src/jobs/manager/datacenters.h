// The datacenters of a cluster, as one of its managers sees them. Pure.
#pragma once

#include <string>
#include <vector>

#include "jobs/dispatch/letters.h"
#include "jobs/manager/surroundings.h"

namespace bellwether::node {

// One for each that a member stands in, by name. Any manager of the cluster serves any of its workers, so a datacenter
// is judged (cluster/health/datacenter.h) by all managers and by its own workers. `leader`: empty when nobody leads.
std::vector<dispatch::DatacenterLine> datacenters_of(const std::vector<Surroundings::Neighbour>& neighbours,
                                                     const std::string& leader,
                                                     const std::vector<dispatch::WorkerLine>& workers);

}  // namespace bellwether::node
