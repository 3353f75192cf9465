// Which ports of the loopback interface the nodes of a local cluster get.
#pragma once

#include <optional>

#include "base/prng.h"
#include "node/local_cluster/layout.h"

namespace bellwether::local_cluster {

// kRefused names the first port of the node that another process has.
Status check_ports(const LocalNode& node);
// From `base_port` on, free or not; without one, ports in a row that are free now. kInvalid: there are not so many;
// kExhausted.
Result<Layout> place(const Shape& shape, std::optional<uint16_t> base_port, Prng& prng);

}  // namespace bellwether::local_cluster
