// Datagram sockets of a simulated process.
#pragma once

#include <memory>

#include "core/runtime/runtime.h"

namespace bellwether::sim {

class SimRuntime;

Result<std::unique_ptr<runtime::UdpSocket>> bind_udp(SimRuntime& runtime, runtime::Endpoint at);

}  // namespace bellwether::sim
