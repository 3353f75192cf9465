// What a node is made of before it knows anybody: its secrets, its port, its disk. Private to the node's sources.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cluster/kv.h"
#include "cluster/node_config.h"
#include "cluster/peer_links.h"
#include "cluster/switchboard.h"
#include "cluster/vote/key_keeper.h"
#include "cluster/vote/vetting.h"
#include "cluster/vote/vote_seal.h"
#include "store/lease_store.h"
#include "wire/link/datagrams.h"
#include "wire/link/server.h"

namespace bellwether::node {

struct NodeParts {
  wire::Keyring keyring;
  link::RefusalWatch refusals;
  cluster::Switchboard switchboard;
  link::DialSettings dialling;
  std::unique_ptr<cluster::Kv> kv;  // nothing: this node has nothing to remember
  // Who decides who leads, where that is a store and this node may lead; and the key in it.
  std::unique_ptr<store::LeaseStore> store;
  std::unique_ptr<store::StoreKey> store_key;
  std::optional<cluster::VoteSeal> vote_seal;  // of one who votes by scores
  std::optional<cluster::KeyHolding> key_holding;
  cluster::VettingSettings vetting;
  std::unique_ptr<link::Datagrams> datagrams;
  std::unique_ptr<link::Server> server;
  runtime::Endpoint local;  // where it listens

  NodeParts(wire::Keyring keys, link::RefusalListener& listener) : keyring(std::move(keys)), refusals(&listener) {}
};

// Everything that can be wrong with files, ports and certificates is found here, and said with its remedy. The other
// arguments must outlive the parts.
runtime::task<Result<std::unique_ptr<NodeParts>>> make_parts(runtime::Runtime& runtime,
                                                             const cluster::NodeConfig& config,
                                                             link::RefusalListener& listener);

// How to reach nodes of this cluster as somebody with this name and role: the node itself, or an operator.
Result<link::DialSettings> dialling_as(const cluster::NodeConfig& config, const std::string& name, wire::Role role);

// The name of the key that the leader of this cluster holds in a store.
std::string leadership_key(const cluster::NodeConfig& config);

// What nodes call themselves in hellos and to people.
std::string software_name();

}  // namespace bellwether::node
