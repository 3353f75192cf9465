// How a node reaches other nodes of its cluster, and how it introduces itself to them.
#pragma once

#include <string>

#include "cluster/net/node_config.h"
#include "cluster/node/admin_messages.h"
#include "cluster/wire/keyring.h"
#include "cluster/wire/link/client.h"
#include "core/runtime/runtime.h"

namespace bellwether::node {

// As a node with this name and role, without TLS. kInvalid: an invalid name.
Result<link::DialSettings> plain_dialling_as(const cluster::NodeConfig& config, const std::string& name,
                                             wire::Role role);
// With TLS, where the settings name certificates: an operator, a client. Waits for the disk.
Result<link::DialSettings> dialling_as(const cluster::NodeConfig& config, const std::string& name, wire::Role role);

// The name of the key that the leader of this cluster holds in a store.
std::string leadership_key(const cluster::NodeConfig& config);

// The name of this software in hellos and for people.
std::string software_name();

// Asks nodes as an operator does: a connection for each question, with the role `operator` and the cluster's secret or
// a certificate of that role.
class OperatorClient {
 public:
  // `by`: the actor, for audit logs. The names of cluster, environment and datacenter, and the certificates, are those
  // of the configuration.
  static Result<OperatorClient> make(const cluster::NodeConfig& config, wire::Keyring keyring, const std::string& by);

  // Errors are those of the node, or say why it could not be asked.
  runtime::task<Result<AdminAnswer>> ask(runtime::Runtime& runtime, HostPort node, AdminRequest request,
                                         Duration timeout);
  // The same of any type of message, as bytes (cluster/net/message_classes.h). kExhausted: the node is busy.
  runtime::task<Result<std::string>> request(runtime::Runtime& runtime, HostPort node, uint16_t type, std::string body,
                                             Duration timeout);
  wire::Keyring& keyring() { return keyring_; }

 private:
  explicit OperatorClient(wire::Keyring keyring) : keyring_(std::move(keyring)) {}
  wire::Keyring keyring_;
  link::DialSettings dialling_;
};

}  // namespace bellwether::node
