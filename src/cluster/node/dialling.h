// How nodes of a cluster are reached, and what a node calls itself to others.
#pragma once

#include <string>

#include "cluster/net/node_config.h"
#include "cluster/wire/link/client.h"

namespace bellwether::node {

// As somebody with this name and role, without TLS. kInvalid: a name that is none.
Result<link::DialSettings> plain_dialling_as(const cluster::NodeConfig& config, const std::string& name,
                                             wire::Role role);
// With TLS, where the settings name certificates: an operator, a client. Waits for the disk.
Result<link::DialSettings> dialling_as(const cluster::NodeConfig& config, const std::string& name, wire::Role role);

// The name of the key that the leader of this cluster holds in a store.
std::string leadership_key(const cluster::NodeConfig& config);

// What nodes call themselves in hellos and to people.
std::string software_name();

}  // namespace bellwether::node
