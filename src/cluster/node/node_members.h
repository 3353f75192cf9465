// The part of a node that knows the members: it finds the cluster, takes part in its membership, and remembers its
// peers from life to life. One thread, that of its runtime.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/discovery/bootstrap.h"
#include "cluster/membership/membership_events.h"
#include "cluster/net/joining.h"
#include "cluster/net/membership_driver.h"
#include "cluster/net/message_router.h"
#include "cluster/net/node_config.h"
#include "cluster/net/peer_links.h"
#include "cluster/node/node_format.h"
#include "cluster/node/node_supplies.h"
#include "cluster/node/store_election.h"
#include "cluster/wire/link/datagrams.h"
#include "cluster/wire/link/server.h"
#include "core/runtime/address.h"

namespace bellwether::node {

// The port of a node: all that others send comes in here, and all that it sends goes out here. It owns the sockets, the
// connections and their secrets, decides on admission, and counts refusals. One thread, that of its runtime.

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
  void on_resource_usage(const cluster::ResourceUsage& signs);

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

class ClusterNode;

class NodeMembers final {
 public:
  // A member as this node sees it; a view until the next turn of the loop.
  struct Member {
    const std::string& name;
    const membership::Profile& profile;
    membership::MemberState state;
    uint32_t incarnation;
    const PeerState* said;  // its own statements; nullptr: none yet
    wire::Role role() const { return static_cast<wire::Role>(profile.role); }
    bool gone() const { return state == membership::MemberState::kDead || state == membership::MemberState::kLeft; }
  };

  // All must outlive it.
  NodeMembers(runtime::Runtime& runtime, const cluster::NodeConfig& config, NodeSupplies& supplies, NodePort& port,
              NodeLog& log, ClusterNode& node);
  ~NodeMembers();
  NodeMembers(const NodeMembers&) = delete;
  NodeMembers& operator=(const NodeMembers&) = delete;

  // `founds`: the first node of a new cluster, although it has seeds. kTimeout, kCancelled.
  runtime::task<Result<cluster::Joining::Way>> find_cluster(bool founds, runtime::Cancellation* cancel);
  // Makes ready to join that way. All below but joined() REQUIRES that it is done.
  runtime::task<void> make(const cluster::Joining::Way& way);
  // Joins, and takes part until cancelled.
  runtime::task<void> run(cluster::Joining::Way way, runtime::Cancellation* cancel);
  void leave() { driver_->tell(membership::Leave{}); }
  // Sets what others learn of this node with every acknowledgement.
  void say(const PeerState& state) { driver_->tell(membership::SetState{write_state(state)}); }
  void on_loop_lag(double ratio) { driver_->tell(membership::LoopLag{ratio}); }
  // No process listens at this peer's address any more.
  void on_refused(const cluster::PeerAddress& peer);

  bool made() const { return driver_ != nullptr; }
  bool joined() const { return joined_; }
  const membership::Membership& kernel() const { return driver_->kernel(); }
  std::optional<cluster::PeerAddress> find(const std::string& name) const { return driver_->find(name); }
  std::optional<membership::MemberState> state_of(const std::string& name) const { return driver_->state_of(name); }
  bool is_gone(const std::string& name) const;
  bool is_suspect(const std::string& name) const { return state_of(name) == membership::MemberState::kSuspect; }
  // Its own statements; nullptr: none yet.
  const PeerState* said_by(const std::string& name) const;
  // In its present state.
  Duration since(const std::string& name) const;
  // Other gates and managers that are alive, as they describe themselves.
  std::vector<Rival> rivals() const;
  // Calls visit(const Member&) for each, this node included.
  template <class Visit>
  void for_each(Visit visit) const {
    const membership::MemberTable& table = kernel().table();
    for (membership::NodeIndex i = 0; i < table.slots(); ++i) {
      if (!table.has(i)) continue;
      visit(
          Member{table.name(i), table.profile(i), table.at(i).state, table.at(i).incarnation, said_by(table.name(i))});
    }
  }
  // How often each change was seen.
  const std::map<std::string, uint64_t>& changes() const { return changes_; }

 private:
  void on_nobody_found(const std::string& text) { log_.note(true, text); }
  void on_news(const cluster::MembershipNews& news);
  void hear(const membership::MemberEvent& event);
  void hear(const membership::StateArrived& arrived);
  void hear(const membership::Conflict& conflict);
  void hear(const membership::Refused& refused);
  void hear(const membership::JoinedGroup& group);
  void hear(const membership::LeftGroup&);
  void hear(const membership::IncarnationRaised& raised);
  void hear(const membership::DegradationChanged& changed);
  void hear(const membership::GuardChanged& guard);
  void hear(const membership::GossipOverflowed&) {}

  runtime::task<std::vector<runtime::Endpoint>> resolve_seeds();
  runtime::task<void> remember_peers(runtime::Cancellation* cancel);
  runtime::task<void> remember(std::string key, std::string value);
  std::optional<runtime::IpAddress> own_address(const runtime::Endpoint& there) const;
  void compare_decisions(const membership::MemberEvent& event);

  runtime::Runtime& runtime_;
  const cluster::NodeConfig& config_;
  NodeSupplies& supplies_;
  NodePort& port_;
  NodeLog& log_;
  ClusterNode& node_;
  discovery::PeerCache peers_;
  std::unique_ptr<cluster::MembershipDriver> driver_;
  runtime::Scope* scope_ = nullptr;  // while it takes part
  bool joined_ = false;
  std::map<std::string, Instant> since_;  // of members in their present state
  std::map<std::string, PeerState> said_;
  std::map<std::string, uint64_t> changes_;
};

}  // namespace bellwether::node
