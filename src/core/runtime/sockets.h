// TCP and UDP of the operating system: what EpollRuntime offers of them. The runtime outlives what they give.
#pragma once

#include <memory>

#include "core/runtime/epoll_runtime.h"

namespace bellwether::runtime {

task<Result<std::unique_ptr<Stream>>> connect_tcp(EpollRuntime& runtime, Endpoint to, ConnectOptions options,
                                                  Cancellation* cancel);
Result<std::unique_ptr<Listener>> listen_tcp(EpollRuntime& runtime, Endpoint at, ListenOptions options);
Result<std::unique_ptr<UdpSocket>> bind_udp(EpollRuntime& runtime, Endpoint at);

}  // namespace bellwether::runtime
