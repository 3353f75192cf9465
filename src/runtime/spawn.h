// Children of the operating system on an epoll loop: what EpollRuntime::spawn() is made of.
#pragma once

#include <memory>

#include "runtime/blocking_pool.h"
#include "runtime/child.h"
#include "runtime/launch.h"

namespace bellwether::runtime {

// `runtime` and `pool` outlive the child.
task<Result<std::unique_ptr<Child>>> spawn_child(Runtime& runtime, BlockingPool& pool, std::shared_ptr<Orphans> orphans,
                                                 SpawnOptions options);

}  // namespace bellwether::runtime
