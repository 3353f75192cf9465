// A world of whole machines (sim/world.h) with processes that run on the simulated runtime. The faults of machines,
// links, disks and clocks are the same for all such processes. A derived class supplies the processes.
#pragma once

#include <array>
#include <set>

#include "sim/harness/faulty_world.h"
#include "sim/world.h"

namespace bellwether::sim {

class MachineWorld : public FaultyWorld {
 public:
  Instant now() const final { return world_.now(); }
  Prng& prng() final { return world_.prng(); }
  uint64_t fingerprint() const final { return world_.fingerprint(); }

  // Starts the process of a machine on which none runs.
  virtual void start(Node& node) = 0;
  // Its process goes in good order, and is gone soon.
  virtual bool leaves(const Node&) const { return false; }
  virtual void lose_power(Node& node) { node.lose_power(); }
  // Which machine a fault strikes.
  virtual Node& victim() { return any_node(); }
  // Links between any two machines may break.
  virtual bool links_break() const { return true; }

  Node& any_node() { return world_.node(prng().below(world_.size())); }
  // Starts it if it does not run by then; a leaving node once it has left.
  void start_later(Node& node);
  bool is_starting(const Node& node) const { return starting_.contains(node.index()); }

  // --- faults
  bool lose_power_for_a_while(Node& node);
  bool kill(Node& node);
  bool pause(Node& node);
  bool cut_off(Node& node);
  bool cut(const Node& from, const Node& to, bool both_ways);
  bool split();
  bool spoil_links();
  bool spoil_disk(Node& node);
  bool let_clocks_drift(Node& node);
  bool set_wall_clock(Node& node);
  void heal_later();
  // Asks the node at `place`, which has `index`, `name` and `process`, to leave, as its operator does.
  template <class Place>
  bool ask_to_leave(Place& place) {
    Node& node = world_.node(place.index);
    if (place.process == nullptr || node.is_paused()) return false;
    say(place.name + " is asked to leave");
    node.runtime().post(
        [](void* context) {
          auto* process = static_cast<Place*>(context)->process;
          if (process != nullptr) process->go("its operator requests it");
        },
        &place);
    start_later(node);
    return true;
  }

 protected:
  explicit MachineWorld(const RunSettings& settings) : FaultyWorld(settings), world_(settings.seed) {}
  // Ends processes while their cluster_view still exist: the destructor of each world calls it.
  void end_processes();
  // Links, disks and processes that stand still. Processes are not started.
  void heal();

  World world_;

 private:
  std::set<uint32_t> starting_;
};

template <class World>
inline constexpr auto kMachineFaults = std::to_array<Fault<World>>({
    {5, "a machine loses its power", [](World& w) { return w.lose_power_for_a_while(w.victim()); }},
    {10, "a process is killed", [](World& w) { return w.kill(w.victim()); }},
    {5, "a process is paused", [](World& w) { return w.pause(w.victim()); }},
    {2, "a node is cut off", [](World& w) { return w.links_break() && w.cut_off(w.any_node()); }},
    {2, "a link is cut one way", [](World& w) { return w.links_break() && w.cut(w.any_node(), w.any_node(), false); }},
    {2, "a link is cut", [](World& w) { return w.links_break() && w.cut(w.any_node(), w.any_node(), true); }},
    {2, "a partition", [](World& w) { return w.links_break() && w.split(); }},
    {5, "the network is slow and loses packets", [](World& w) { return w.links_break() && w.spoil_links(); }},
    {5, "a disk is slow or fails", [](World& w) { return w.spoil_disk(w.victim()); }},
    {5, "clocks drift", [](World& w) { return w.let_clocks_drift(w.victim()); }},
    {5, "a wall clock is set", [](World& w) { return w.set_wall_clock(w.victim()); }},
});

}  // namespace bellwether::sim
