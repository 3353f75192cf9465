// The visible state of a local cluster: its processes, and the answers of its managers.
#pragma once

#include "cluster/local_cluster/local_cluster.h"

namespace bellwether::local_cluster {

void see_processes(Sight& sight);
// REQUIRES that the processes have been seen. `folder` and `sight` must outlive it.
runtime::task<void> ask_members(runtime::EpollRuntime& runtime, const Folder& folder, Sight& sight);
// Why nodes that were just started are not yet members by their own word, or why `sight` may still show earlier
// processes; empty: they are. REQUIRES that the members have been asked. `folder`, `sight` and `started` must outlive
// it.
runtime::task<std::string> ask_started(runtime::EpollRuntime& runtime, const Folder& folder, const Sight& sight,
                                       const std::vector<std::size_t>& started);
// The nodes that are members and alive.
std::size_t joined(const Sight& sight);

}  // namespace bellwether::local_cluster
