// Asks the managers of a cluster about jobs: any of them answers. It goes on to the next manager if one is out of reach
// or refers to another, until the deadline. One thread, that of its runtime.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/net/node_config.h"
#include "cluster/net/peer_links.h"
#include "cluster/wire/keyring.h"
#include "core/base/host_port.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::node {

// A manager that did not answer the last request to it.
struct SilentManager {
  std::string place;  // HOST:PORT
  std::string why;    // of the first such request
  Instant since;
};
// Who they are, of `all` managers that the settings name, and what to do; empty: nobody is silent.
std::string text_of(std::span<const SilentManager> silent, std::size_t all, Instant now);

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
  // other). An error of time names the silent managers. `retry_until`: no attempt after a pause begins later.
  runtime::task<Result<dispatch::Response>> ask(dispatch::JobMessage message, Instant deadline,
                                                runtime::Cancellation* cancel, Instant retry_until = Instant::never());
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
  void unheard(std::size_t manager, const std::string& why);
  // `last`, with the silent managers.
  Error given_up(Error last, bool refused) const;

  link::RefusalWatch refusals_;
  std::vector<std::optional<SilentManager>> silent_;  // beside the managers of the settings
  std::size_t next_ = 0;                              // of the managers
  std::string answered_by_;
  cluster::PeerLinks links_;
};

}  // namespace bellwether::node
