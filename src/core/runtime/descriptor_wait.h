// Waiting for any descriptor that epoll can watch: what EpollRuntime::wait_descriptor() is made of.
#pragma once

#include "core/runtime/epoll_runtime.h"

namespace bellwether::runtime {

task<Result<Readiness>> wait_descriptor(EpollRuntime& runtime, int fd, bool read, bool write, Instant deadline,
                                        Cancellation* cancel);

}  // namespace bellwether::runtime
