// The supplies of a node on this machine (node_supplies.h): files, the environment, SQLite, the system's own figures.
#pragma once

#include "cluster/net/node_config.h"
#include "cluster/node/node_supplies.h"
#include "core/runtime/runtime.h"

namespace bellwether::node {

// All that can be wrong with files and certificates is found here, and said with its remedy. `runtime` must outlive the
// supplies.
runtime::task<Result<NodeSupplies>> local_supplies(runtime::Runtime& runtime, const cluster::NodeConfig& config);

}  // namespace bellwether::node
