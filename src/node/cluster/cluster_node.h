// `bellwether node`: one node of a cluster. It finds its cluster, takes part in membership, votes when it is one of the
// voters, and answers operators and pages. What the node is for (gates, managers, workers) stands on this.
#pragma once

#include <string>

#include "cluster/node_config.h"
#include "runtime/epoll_runtime.h"

namespace bellwether::node {

struct NodeOptions {
  cluster::NodeConfig config;
  bool first_start = false;  // a person says that this voter never voted before
  bool found = false;        // the first node of a new cluster, although it has seeds
  std::string audit_file;
  bool json = false;
  int verbosity = 1;
};

inline constexpr int kExitNotStarted = 104;  // settings, files, ports, secrets
inline constexpr int kExitNotJoined = 1;     // within its limit; or another process bears its name

// Runs until a signal, until an operator says `leave`, or until it cannot go on. The exit code of the process. REQUIRES
// that no other thread runs yet.
int run_node(runtime::EpollRuntime& runtime, const NodeOptions& options);

}  // namespace bellwether::node
