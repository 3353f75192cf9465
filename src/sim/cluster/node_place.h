// The place of a simulated node: its operator's settings, the data that outlives its processes, and its process while
// one runs. The node is the product's own (cluster/node/cluster_node.h), made anew at each start; a world brings its
// roles and supplies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/net/election_driver.h"
#include "cluster/node/cluster_node.h"
#include "cluster/node/node_election.h"
#include "core/journal/journal.h"
#include "sim/cluster/sim_kv.h"
#include "sim/harness/faulty_world.h"
#include "sim/world.h"

namespace bellwether::sim {

inline constexpr uint16_t kNodePort = 7400;

// The keys of all simulated nodes and clients, and the name of their cluster.
wire::Keyring keyring_of_nodes();
cluster::NodeConfig config_of_nodes();

struct NodePlace {
  // All outlive it.
  NodePlace(Node& on, FaultyWorld& lives_in);
  NodePlace(const NodePlace&) = delete;
  NodePlace& operator=(const NodePlace&) = delete;
  virtual ~NodePlace() = default;

  virtual std::vector<std::shared_ptr<node::NodeRole>> make_roles(runtime::Runtime& runtime) = 0;
  virtual node::NodeSupplies make_supplies(runtime::Runtime& runtime);
  // Nothing that a vote or a register stands on was ever written here, as its operator says again at each start.
  virtual bool is_new() const { return !lost && !stored.has("election/record"); }
  // It does nothing any more until it is opened again.
  virtual bool disk_is_broken() const { return kv != nullptr && kv->broken(); }
  // The node is gone, with all that belongs to it.
  virtual void ended() {}
  virtual void on_line(std::string_view event, const std::string& text, const Journal::Fields& fields);
  // A line of the world's trace.
  void say(const std::string& text) const {
    if (home.tracing()) home.say(name + "." + std::to_string(starts) + "  " + text);
  }

  // nullptr: it has found no cluster yet, or does not vote.
  const cluster::ElectionDriver* election() const;
  bool leads(Instant world) const;
  // The living members in its view, itself included.
  std::size_t alive() const;
  // An operator asks it, in its next turn, to hand over to `heir`; to any node when it is empty.
  void post_hand_over(const std::string& heir);

  Node& machine;
  FaultyWorld& home;  // that it is in
  std::size_t index;
  std::string name;
  node::NodeOptions options;
  StoredKeys stored;  // its votes, and its other memory
  bool remembers = true;
  bool careless_disk = false;
  bool founds = false;  // an operator says that this is the first node, when it starts for the first time
  bool lost = false;    // its disk was replaced: its votes are unknown
  uint32_t starts = 0;
  node::ClusterNode* process = nullptr;  // nullptr: none runs
  SimKv* kv = nullptr;                   // of that process

 private:
  std::string heir_;
};

// For Node::start(); `context` is a NodePlace. Ends when the node is asked to leave, or when another process has its
// name.
runtime::task<void> run_node(runtime::Runtime& runtime, void* context);

}  // namespace bellwether::sim
