// The part of a node that knows the leader: it votes, stands for the key in a store, or follows the node that says that
// it leads; it informs the roles of terms that begin and end. One thread, that of its runtime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/net/leadership.h"
#include "cluster/node/admin_messages.h"
#include "cluster/node/cluster_node.h"
#include "cluster/node/node_members.h"
#include "cluster/node/node_roles.h"
#include "core/runtime/event.h"

namespace bellwether::node {

class NodeElection final : public cluster::Leadership::Listener {
 public:
  // All must outlive it.
  NodeElection(runtime::Runtime& runtime, const NodeOptions& options, NodeSupplies& supplies, NodePort& port,
               NodeMembers& members, NodeRoles& roles, NodeLog& log, ClusterNode& node);
  NodeElection(const NodeElection&) = delete;
  NodeElection& operator=(const NodeElection&) = delete;

  // Makes the source of leadership. REQUIRES members that are made.
  void make();
  // Takes part until cancelled.
  runtime::task<void> run(runtime::Cancellation* cancel);
  // Gives the leadership up. Waits until all work of a leader has stopped, and then, for at most `at_most`, until
  // others know.
  runtime::task<void> resign(std::string cause, Duration at_most);
  // Ends the wait of resign().
  void give_up_waiting() { end_at_once_ = true, changed_.changed(); }

  // What membership says.
  void on_member(const membership::MemberEvent& event);
  void on_peer_state(const std::string& name, const PeerState& state);
  void set_health(const quorum::LocalHealth& health) {
    if (leadership_ != nullptr) leadership_->set_health(health);
  }

  // nullptr: it follows the node that says that it leads.
  cluster::Leadership* leadership() { return leadership_.get(); }
  const cluster::Leadership* leadership() const { return leadership_.get(); }
  // By its own term of office, at this moment.
  bool leads() const { return term_.valid_for(runtime_.boot_now()) > Duration::zero(); }
  const election::TermOfOffice& term() const { return term_; }
  const std::string& leader() const { return leader_; }  // empty: unknown
  uint64_t leader_term() const { return leader_term_; }
  uint64_t changes() const { return changes_; }
  LeaderView view() const;
  // Why it can neither stand nor name the leader; empty: it can.
  std::string obstacle() const { return leadership_ == nullptr ? std::string() : leadership_->obstacle(); }

  // For operators: each begins it and describes what will happen, or why not.
  Result<std::string> transfer(const std::string& to);
  Result<std::string> call_election(bool forced);
  Result<std::string> change_voters(bool add, const std::string& name);

 private:
  void on_elected(const election::TermOfOffice& term) override;
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override;
  void on_term_ended(const election::TermEnded& ended) override;
  void on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) override;
  void on_election_complete(const std::string& winner, election::Term term, const std::string& why) override;
  void on_voters_changed(const std::vector<std::string>& voters) override;
  void on_retired() override;
  void on_note(bool warning, const std::string& text) override { log_.note(warning, text); }

  std::unique_ptr<cluster::Leadership> in_store(uint64_t seed);
  std::unique_ptr<cluster::Leadership> by_score(uint64_t seed);
  std::unique_ptr<cluster::Leadership> by_quorum(uint64_t seed);

  runtime::Runtime& runtime_;
  const NodeOptions& options_;
  const cluster::NodeConfig& config_;
  NodeSupplies& supplies_;
  NodePort& port_;
  NodeMembers& members_;
  NodeRoles& roles_;
  NodeLog& log_;
  ClusterNode& node_;
  std::unique_ptr<cluster::Leadership> leadership_;
  election::TermOfOffice term_;  // of this node; over when its end says so
  std::string leader_;
  uint64_t leader_term_ = 0;
  Instant leader_since_;
  std::string leader_evidence_ = "no node has been heard yet";
  uint64_t changes_ = 0;
  bool retired_ = false;  // stands for the leadership no more
  bool end_at_once_ = false;
  runtime::Condition changed_;  // of all these
};

}  // namespace bellwether::node
