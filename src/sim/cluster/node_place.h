// The place of a simulated node: its operator's settings, the data that outlives its processes, and its process while
// one runs. The node is the product's own (cluster/node/cluster_node.h), made anew at each start; a world brings its
// roles and supplies.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/net/election_driver.h"
#include "cluster/net/kv.h"
#include "cluster/node/cluster_node.h"
#include "cluster/node/node_election.h"
#include "core/base/prng.h"
#include "core/journal/journal.h"
#include "core/runtime/event.h"
#include "sim/disk.h"
#include "sim/harness/faulty_world.h"
#include "sim/world.h"

namespace bellwether::sim {

// The memory of simulated nodes (cluster/net/kv.h): a table on a disk that is slow, fails, and loses unconfirmed data.
// The disk outlives the process that has it open.

// The disk's half: one for each machine. Disk::settings() of syncs give its speed and its failures.
class StoredKeys {
 public:
  StoredKeys(Prng& prng, Disk& disk) : prng_(prng), disk_(disk) {}
  StoredKeys(const StoredKeys&) = delete;
  StoredKeys& operator=(const StoredKeys&) = delete;

  bool has(const std::string& key) const { return table_.contains(key); }
  // Another disk, with nothing on it, is put in its place. REQUIRES that no process has it open.
  void replace() { table_.clear(); }

 private:
  friend class SimKv;
  struct Write {
    std::vector<cluster::KvChange> changes;
    Instant done_at;                 // of a careless one: by the clock of the process
    runtime::Event* turn = nullptr;  // of a careful write: set when the earlier ones are done
  };
  void apply_first();

  Prng& prng_;
  Disk& disk_;
  std::map<std::string, std::string> table_;
  std::deque<Write> under_way_;  // asked for and not done, in order
};

// The process's half. When its process ends, the first part of its pending writes may have arrived, in order.
class SimKv final : public cluster::Kv {
 public:
  // `careless`: a change counts as durable while it is only in the memory of the system, which writes it when it likes:
  // the mistake of a store without fsync.
  SimKv(runtime::Runtime& runtime, StoredKeys& stored, bool careless)
      : runtime_(runtime), stored_(stored), careless_(careless) {}
  ~SimKv() override;
  SimKv(const SimKv&) = delete;
  SimKv& operator=(const SimKv&) = delete;

  runtime::task<Result<std::optional<std::string>>> get(std::string key) override;
  runtime::task<Result<std::vector<std::pair<std::string, std::string>>>> list(std::string prefix) override;
  runtime::task<Status> put(std::vector<cluster::KvChange> changes) override;
  bool broken() const { return broken_; }

 private:
  static bool too_large(const std::vector<cluster::KvChange>& changes);
  void write_back();
  // The first write is done, whether it is on the disk or not.
  void finish_first(bool written);

  runtime::Runtime& runtime_;
  StoredKeys& stored_;
  bool careless_;
  bool broken_ = false;  // after kIo, until it is opened again
};

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
