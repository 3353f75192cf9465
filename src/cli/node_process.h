// A node as a process of its own: put together with its supplies and its roles, and ended by signals.
#pragma once

#include "node/cluster/cluster_node.h"
#include "runtime/epoll_runtime.h"

namespace bellwether::cli {

// Runs until a signal, until an operator says `leave`, or until it cannot go on. The exit code of the process. REQUIRES
// that no other thread runs yet.
int run_node(runtime::EpollRuntime& runtime, const node::NodeOptions& options, Journal& journal);

}  // namespace bellwether::cli
