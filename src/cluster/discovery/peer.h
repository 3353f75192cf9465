// A peer that a node may talk to: what membership knows of it.
#pragma once

#include <compare>
#include <string>

#include "base/host_port.h"

namespace bellwether::discovery {

struct Locality {
  std::string datacenter;  // empty: unknown
  std::string region;      // a group of datacenters; empty: unknown
  auto operator<=>(const Locality&) const = default;
};

struct Peer {
  std::string id;  // unique in the cluster, the same after a restart
  HostPort place;
  Locality locality;
  auto operator<=>(const Peer&) const = default;
};

}  // namespace bellwether::discovery
