// What a node is given beside its settings and its runtime: keys, disks, and measurements of its machine. `bellwether
// node` takes them from files, the environment and the system (local_supplies()), the simulator from its world.
#pragma once

#include <memory>
#include <optional>

#include "cluster/net/kv.h"
#include "cluster/net/node_config.h"
#include "cluster/net/resource_monitor.h"
#include "cluster/vote/key_recovery.h"
#include "cluster/vote/vetting.h"
#include "cluster/vote/vote_codec.h"
#include "cluster/vote/vote_driver.h"
#include "cluster/wire/keyring.h"
#include "core/runtime/runtime.h"
#include "core/runtime/tls.h"
#include "election/store/lease_store.h"

namespace bellwether::message {
struct Message;
}

namespace bellwether::node {

struct NodeSupplies {
  wire::Keyring keyring;
  std::shared_ptr<runtime::TlsContext> dial_tls;  // both or none
  std::shared_ptr<runtime::TlsContext> serve_tls;
  // The description of messages about jobs, of a node that takes part in them; nullptr: it refuses them.
  const message::Message* messages = nullptr;
  std::unique_ptr<cluster::Kv> kv;  // nothing: this node has nothing to remember; required of a voter
  // The store that decides the leader, where one does and this node may lead; and the key in it.
  std::unique_ptr<store::LeaseStore> store;
  std::unique_ptr<store::StoreKey> store_key;
  // Of a node that votes by scores; the seal is required there.
  std::optional<cluster::VoteSeal> vote_seal = {};
  std::optional<cluster::KeyHolding> key_holding = {};
  cluster::VettingSettings vetting = {};
  std::unique_ptr<cluster::ResourceSource> resources;  // required of a node that votes by scores, or leads contexts
  std::unique_ptr<cluster::ResourceSource> usage;      // nothing: only the lag of its loop is known
  // The address of this machine from which the route to an endpoint begins; nothing where no route exists.
  std::optional<runtime::IpAddress> (*own_address)(const runtime::Endpoint& there) = nullptr;

  explicit NodeSupplies(wire::Keyring keys) : keyring(std::move(keys)) {}
};

// The supplies of a node on this machine: files, the environment, SQLite, the system's own figures.

// Finds all errors of files and certificates, and names the remedy. `runtime` must outlive the supplies.
runtime::task<Result<NodeSupplies>> local_supplies(runtime::Runtime& runtime, const cluster::NodeConfig& config);

}  // namespace bellwether::node
