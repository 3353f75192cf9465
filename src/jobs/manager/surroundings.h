// What a manager knows of its cluster, from the node that it runs in.
#pragma once

#include <string>
#include <vector>

#include "cluster/net/peer_names.h"

namespace bellwether::node {

class Surroundings : public cluster::Addresses {
 public:
  virtual std::string self() const = 0;
  // Of the cluster, as far as is known; empty: nobody.
  virtual std::string leader_name() const = 0;
  virtual bool leads() const = 0;
  // Those that are alive, this one with them, by name.
  virtual std::vector<std::string> manager_names() const = 0;
  // Known to be dead or to have left; one that was never heard of is not.
  virtual bool is_gone(const std::string& name) const = 0;
  // A manager or a worker of the cluster, this one with them.
  struct Neighbour {
    std::string name;
    std::string datacenter;
    bool manager = false;
    bool there = false;  // neither dead nor gone in good order
    bool stuck = false;  // a manager that says so of itself
  };
  virtual std::vector<Neighbour> neighbours() const = 0;
  // Others doubt that it lives.
  virtual bool is_suspect(const std::string& name) const = 0;
};

}  // namespace bellwether::node
