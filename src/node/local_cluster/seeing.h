// What there is to see of a local cluster: its processes, and what its managers say.
#pragma once

#include "node/local_cluster/local_cluster.h"

namespace bellwether::local_cluster {

void see_processes(Sight& sight);
// REQUIRES that the processes have been seen. `folder` and `sight` must outlive it.
runtime::task<void> ask_members(runtime::EpollRuntime& runtime, const Folder& folder, Sight& sight);
// The nodes that are members and alive.
std::size_t joined(const Sight& sight);

}  // namespace bellwether::local_cluster
