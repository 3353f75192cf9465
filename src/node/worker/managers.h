// The managers of a worker's cluster.
#pragma once

#include <vector>

#include "cluster/peer_links.h"

namespace bellwether::node {

class Managers {
 public:
  virtual ~Managers() = default;
  // Those that are alive, as far as is known, by their names.
  virtual std::vector<cluster::PeerAddress> managers() const = 0;
};

}  // namespace bellwether::node
