// Which address of this machine the way to somebody begins with.
#pragma once

#include <optional>

#include "runtime/address.h"

namespace bellwether::node {

// By the system's routes; nothing is sent. Nothing when there is no way.
std::optional<runtime::IpAddress> own_address_towards(const runtime::Endpoint& there);

}  // namespace bellwether::node
