// A simulated world: machines, the network between them, and the one timeline of all events. One seed, one run. A test
// makes a world, starts processes, lets time pass, breaks parts in between, and checks the outcome; nothing happens
// except inside run_*().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/network.h"
#include "sim/node.h"
#include "sim/timeline.h"

namespace bellwether::sim {

class World {
 public:
  explicit World(uint64_t seed) : timeline_(seed), network_(timeline_) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  // A machine without power, with the address 10.0.0.(1 + how many there are already), which the name resolves to.
  Node& add_node(std::string name);
  Node& node(std::size_t index) { return *nodes_[index]; }
  std::size_t size() const { return nodes_.size(); }

  Network& network() { return network_; }
  // Randomness for the world's driver, from the world's own stream.
  Prng& prng() { return timeline_.prng(); }
  // World time; starts at 0.
  Instant now() const { return timeline_.now(); }
  // Calls `action()` after a while, outside of every node.
  template <class Action>
  void after(Duration delay, Action action) {
    timeline_.after(delay, std::move(action));
  }

  // Everything that happens until then, and at that time, has happened.
  void run_until(Instant time);
  void run_for(Duration span) { run_until(now() + span); }
  // Runs until `holds()`, which is called after each event; false when it does not within `at_most`.
  template <class Predicate>
  bool run_while_waiting(Duration at_most, Predicate holds) {
    const Instant end = now() + at_most;
    while (!holds()) {
      if (!step(end)) return holds();
    }
    return true;
  }

  // Equal for two runs only when the same events happened in the same order.
  uint64_t fingerprint() const { return timeline_.fingerprint(); }

 private:
  // One event. False, with now() at `end`, when none is due by then.
  bool step(Instant end);

  Timeline timeline_;
  Network network_;
  std::vector<std::unique_ptr<Node>> nodes_;
  uint64_t events_at_once_ = 0;
};

}  // namespace bellwether::sim
