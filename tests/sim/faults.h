// What goes wrong in a world: bad links, partitions, deaths, losses of power, pauses, clocks, disks. Which of it, when
// and for how long is drawn from the world's seed.
#pragma once

#include "sim/world.h"

namespace bellwether::sim {

class Faults {
 public:
  // Acts on all nodes that there are. REQUIRES that each was started once. The network of `spared` fails like that of
  // all, but its machine stays well and its process is left alone, also when it has ended.
  explicit Faults(World& world, const Node* spared = nullptr) : world_(world), spared_(spared) {}

  // Lets the world live through `count` faults, some of which last while others begin.
  void happen(int count);
  // Ends all of them: what is down comes up and stays up, the network and the disks work. Clocks keep what they show.
  void end();
  // Starts again what has ended.
  void start_what_is_down();

 private:
  Node& any_node();
  Node& any_victim();
  void happen_once();
  void spoil_links();
  void partition();
  void strike(Node& node);
  void spoil_clock(Node& node);
  void spoil_disk(Node& node);

  World& world_;
  const Node* spared_;
};

}  // namespace bellwether::sim
