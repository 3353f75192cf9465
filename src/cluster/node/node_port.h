// The port of a node: all that others send comes in here, and all that it sends goes out here. It owns the sockets, the
// connections and their secrets, decides on admission, and counts refusals. One thread, that of its runtime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/discovery/metrics.h"
#include "cluster/net/message_router.h"
#include "cluster/net/node_config.h"
#include "cluster/net/peer_links.h"
#include "cluster/node/node_format.h"
#include "cluster/node/node_supplies.h"
#include "cluster/wire/link/datagrams.h"
#include "cluster/wire/link/server.h"

namespace bellwether::node {

class NodeMembers;

class NodePort final {
 public:
  // All must outlive it.
  NodePort(runtime::Runtime& runtime, const cluster::NodeConfig& config, NodeSupplies& supplies, NodeLog& log);
  NodePort(const NodePort&) = delete;
  NodePort& operator=(const NodePort&) = delete;

  // Listens, TCP and UDP. An error says what is wrong with the address.
  runtime::task<Status> open();
  // Answers until cancelled. REQUIRES open().
  runtime::task<void> serve(runtime::Cancellation* cancel);
  // Receives reports of processes that are gone; nullptr: no receiver (any more). Outlives these calls.
  void report_to(NodeMembers* members) { members_ = members; }
  // From the measurement of usage signs (cluster/net/resource_monitor.h).
  void on_loop_lag(double ratio) { admission_.on_loop_lag(ratio); }
  void on_vital_signs(const cluster::ResourceUsage& signs);

  // Each of them returns a description of its result. kInvalid, kExists and the like say why not.
  Result<std::string> learn_secret(std::string text);
  Result<std::string> use_secret(uint32_t id);
  Result<std::string> forget_secret(uint32_t id);

  const wire::Keyring& keyring() const { return supplies_.keyring; }
  link::RefusalWatch& refusals() { return refusals_; }
  const link::RefusalWatch& refusals() const { return refusals_; }
  cluster::MessageRouter& router() { return router_; }
  const cluster::AdmissionControl& admission_control() const { return admission_; }
  discovery::Metrics& discovery() { return discovery_; }
  const discovery::Metrics& discovery() const { return discovery_; }
  const link::DialSettings& dialling() const { return dialling_; }
  // REQUIRES open(), as do those that follow.
  const runtime::Endpoint& local() const { return local_; }
  link::Datagrams& datagrams() { return *datagrams_; }
  const link::Datagrams& datagrams() const { return *datagrams_; }
  cluster::PeerLinks& links() { return *links_; }
  const cluster::PeerLinks& links() const { return *links_; }
  // The agreements of all connections.
  std::vector<const wire::Agreement*> agreements() const;

 private:
  void on_refused(wire::Refusal refusal, const runtime::Endpoint& from, std::string_view detail, uint64_t unheard);
  void on_mismatch(wire::Refusal refusal, const wire::Mismatch& names);
  void on_peer_gone(const cluster::PeerAddress& peer);
  void on_trouble(const cluster::PeerAddress& peer, const Error& why);
  // Its datagrams need no challenge then.
  void on_open(link::Connection& connection) { datagrams_->introduce(connection.peer()); }
  void on_load_changed(resilience::LoadState state, std::string_view reason);

  runtime::Runtime& runtime_;
  const cluster::NodeConfig& config_;
  NodeSupplies& supplies_;
  NodeLog& log_;
  NodeMembers* members_ = nullptr;
  link::RefusalWatch refusals_;
  cluster::MessageRouter router_;
  cluster::AdmissionControl admission_;
  discovery::Metrics discovery_;
  link::DialSettings dialling_;
  std::unique_ptr<link::Datagrams> datagrams_;
  std::unique_ptr<link::Server> server_;
  std::unique_ptr<cluster::PeerLinks> links_;
  runtime::Endpoint local_;
};

}  // namespace bellwether::node
