// Asks the managers of a cluster about jobs: any of them answers. It goes on to the next manager if one is out of reach
// or refers to another, until the deadline. One thread, that of its runtime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/net/node_config.h"
#include "cluster/net/peer_links.h"
#include "cluster/wire/keyring.h"
#include "core/base/host_port.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::node {

class JobClient final {
 public:
  struct Settings {
    std::vector<HostPort> managers;  // at least one
    std::string name;                // of this client among those of the cluster
    wire::Role role = wire::Role::kClient;
  };
  // Cluster, environment and certificates are those of the configuration. Sends nothing.
  static Result<std::unique_ptr<JobClient>> make(runtime::Runtime& runtime, const cluster::NodeConfig& config,
                                                 wire::Keyring keyring, Settings settings);

  // Returns an answer that is no temporary Refusal. It retries kNotOwner, kNotLeader, kUnavailable and kBusy until the
  // deadline, and then returns kExhausted. If no manager could be reached, it returns an error of the network,
  // never kNotFound, kExists or kRefused: these are Refusals that time does not change (kUnknown, kConflict, any
  // other).
  runtime::task<Result<dispatch::Response>> ask(dispatch::JobMessage letter, Instant deadline,
                                                runtime::Cancellation* cancel);
  // The manager of the last answer; empty: none.
  const std::string& answered_by() const { return answered_by_; }
  // Before it is destroyed.
  runtime::task<void> close();

 private:
  JobClient(runtime::Runtime& runtime, link::DialSettings dialling, wire::Keyring keyring, Settings settings);

  runtime::Runtime& runtime_;
  Settings settings_;
  wire::Keyring keyring_;
  link::DialSettings dialling_;
  cluster::MessageRouter router_{cluster::MessageClasses(&message::message_of<dispatch::JobMessage>())};
  link::RefusalWatch refusals_;
  std::size_t next_ = 0;  // of the managers
  std::string answered_by_;
  cluster::PeerLinks links_;
};

}  // namespace bellwether::node
