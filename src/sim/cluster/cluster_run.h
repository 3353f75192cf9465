// The run of one simulated cluster: see cluster_world.h for what it is. Phases are in cluster_world.cc, what goes wrong
// is in cluster_faults.cc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/cluster_process.h"
#include "sim/cluster/cluster_world.h"
#include "sim/world.h"

namespace bellwether::sim {

class ClusterWorld final : private ClusterPlace::Watcher {
 public:
  ClusterWorld(uint64_t seed, ClusterMistake mistake, bool trace);
  ~ClusterWorld() override;
  ClusterRun live();

 private:
  void saw(const ClusterPlace& place, const std::string& text) override;
  void elected(ClusterPlace& place, uint64_t term) override;

  // --- phases: cluster_world.cc
  void look();
  bool may_act(const ClusterPlace& place);
  bool leads(const ClusterPlace& place);
  ClusterPlace* leader();
  bool agreed();
  template <class Holds>
  bool run_until(Duration at_most, Holds holds);
  bool run_for(Duration span);
  // How long it took.
  Duration expect_agreement();
  void expect_calm();
  void expect_takeover();
  void tell_states();
  void fail(const std::string& text);
  void say(const std::string& text);

  // --- faults: cluster_faults.cc
  void something_goes_wrong();
  void strike(Node& node);
  void set_wall(Node& node);
  void replace_disk(ClusterPlace& place);
  void cut();
  void spoil_links();
  void spoil_disk(Node& node);
  void bother();
  void start_later(Node& node);
  void make_whole();

  Node& node_of(const ClusterPlace& place) { return world_.node(place.index); }
  Node& any_node() { return world_.node(world_.prng().below(world_.size())); }
  ClusterPlace& any_place() { return *places_[world_.prng().below(places_.size())]; }
  Prng& prng() { return world_.prng(); }
  Duration draw(Duration low, Duration high) { return prng().between(low, high); }

  ClusterMistake mistake_;
  bool tracing_;
  World world_;
  std::vector<std::unique_ptr<StoredKeys>> stored_;
  std::vector<std::unique_ptr<ClusterPlace>> places_;
  uint64_t highest_term_ = 0;
  ClusterRun run_;
};

}  // namespace bellwether::sim
