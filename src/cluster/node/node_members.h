// The part of a node that knows the members: it finds the cluster, takes part in its membership, and remembers its
// peers from life to life. One thread, that of its runtime.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/discovery/peer_cache.h"
#include "cluster/membership/membership_events.h"
#include "cluster/net/joining.h"
#include "cluster/net/membership_driver.h"
#include "cluster/net/peer_links.h"
#include "cluster/node/node_format.h"
#include "cluster/node/node_port.h"
#include "cluster/node/store_election.h"
#include "core/runtime/address.h"

namespace bellwether::node {

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
  void on_nobody_found(const std::string& text);
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
