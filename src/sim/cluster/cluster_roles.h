// The roles of the nodes of the world `cluster` (cluster_world.h): one with work that only a leader may do, and one
// that keeps data on its disk and receives messages of the others. Mistakes in the assembly of a node are made here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/callback.h"
#include "sim/cluster/node_place.h"
#include "sim/harness/faulty_world.h"

namespace bellwether::sim {

// Well-known ways to bind the kernels of a node to the world wrong, and to put a node together wrong.
inline constexpr auto kClusterMistakes = std::to_array<Mistake>({
    {"confirms-before-durable", "the disk confirms a write that is only in memory"},
    {"death-is-proof", "the election takes membership's suspicion of a leader as proof of its death"},
    {"acts-on-after-term", "the work does not stop when its term has ended"},
    {"told-late", "a role learns of the end of a term two seconds late"},
    {"routed-before-ready", "a role accepts messages before it has read its data"},
    {"outlives-node", "a role outlives its node"},
    {"prepares-in-two-steps", "a role that is stopped while it prepares leaves half of its data on the disk"},
});

class GuardedWork;

struct ClusterPlace final : NodePlace {
  // Checks the rules where a process sees the events.
  struct Watcher {
    Callback<void(ClusterPlace& place, uint64_t term)> elected;
    Callback<void(ClusterPlace& place)> prepares;
  };

  ClusterPlace(Node& on, FaultyWorld& lives_in, Watcher told, std::size_t mistake);
  bool is(MistakeIn<kClusterMistakes> one) const { return mistake_ == one.number; }
  std::vector<std::shared_ptr<node::NodeRole>> make_roles(runtime::Runtime& runtime) override;
  void ended() override;

  // By its machine's boot clock: guarded work may act at this time.
  bool may_act(Instant boot) const;
  // A role works on a term that its node knows to be over.
  bool is_misled() const;

  Watcher watcher;
  GuardedWork* work = nullptr;  // of the process
  bool dies_preparing = false;

 private:
  std::size_t mistake_;  // a row of kClusterMistakes, counted from 1
  std::vector<std::weak_ptr<node::NodeRole>> roles_;
  std::vector<std::shared_ptr<node::NodeRole>> kept_;
};

}  // namespace bellwether::sim
