// One node of a cluster: it finds its cluster, takes part in membership, votes when it is one of the voters, and
// answers operators and pages. Its roles (node_roles.h) define its purpose. Its maker supplies them, and everything
// else (node_supplies.h): `bellwether node` and the simulator run this same class.
//
// It has parts, each of which owns the source of its events:
//
//   node_port      its sockets, connections and secrets; admission
//   node_members   the members of the cluster
//   node_election  the leader
//   node_roles     its work
//   node_admin     the answers to operators and pages
//
// This class connects the parts and owns its life. One thread, that of its runtime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/net/joining.h"
#include "cluster/net/node_config.h"
#include "cluster/node/node_members.h"
#include "cluster/node/node_roles.h"
#include "core/journal/journal.h"
#include "core/runtime/event.h"

namespace bellwether::node {

class NodeAdmin;
class NodeRoles;

struct NodeOptions {
  cluster::NodeConfig config;
  bool first_start = false;  // a person says that this voter never voted before
  bool found = false;        // the first node of a new cluster, although it has seeds
};

inline constexpr int kExitNotStarted = 104;  // settings, files, ports, secrets
inline constexpr int kExitNotJoined = 1;     // within its limit; or another process bears its name

class ClusterNode final {
 public:
  // `runtime`, `options` and `journal` must outlive it. A role that uses another one comes after it.
  ClusterNode(runtime::Runtime& runtime, const NodeOptions& options, NodeSupplies supplies,
              std::vector<std::shared_ptr<NodeRole>> roles, Journal& journal);
  ClusterNode(const ClusterNode&) = delete;
  ClusterNode& operator=(const ClusterNode&) = delete;
  ~ClusterNode();

  // Until it has left, or cannot go on: the exit code of its process. Once.
  runtime::task<int> run();
  // Hands over and leaves, and then run() ends.
  void go(const std::string& cause);
  bool leaves() const { return leaving_.is_set(); }
  // A leaving node stops waiting and ends.
  void end_at_once(int exit_code);

  const NodeMembers& members() const { return *members_; }
  const NodeElection& election() const { return *election_; }
  // For the questions and acts of operators. REQUIRES that it has found its cluster.
  NodeAdmin& admin() { return *admin_; }

  // Events of its parts that concern the whole node, and their questions to it. Calls come one after the other, on the
  // thread of its runtime, and must not wait.
  void on_member(const membership::MemberEvent& event);
  // Another node's description of its state.
  void on_peer_state(const std::string& name, const PeerState& state);
  void on_joined() { tell_health(); }
  // It is no member any more, as the others know.
  void on_left();
  // Another process bears its name.
  void on_name_taken(const runtime::Endpoint& holder);
  void on_degraded();
  void on_process_ended(const std::string& name, const std::string& why);
  // Sends its leadership, or the leader that it follows, to others.
  void on_state_changed() { tell_state(); }
  // Why it is not ready for work; empty: it is.
  std::string not_ready() const;
  // Takes nothing new, and leaves when its work is done. False: it has nothing to drain.
  bool drain(const std::string& cause);

 private:
  void on_loop_lag(double ratio);
  void on_resource_usage(const cluster::ResourceUsage& signs);

  runtime::task<void> take_part(cluster::Joining::Way way, runtime::Scope& outer);
  runtime::task<void> serve(cluster::Joining::Way way);
  runtime::task<void> depart();
  static runtime::task<void> drain_and_leave(ClusterNode* self);
  void fail_to_start(const std::string& why);
  std::string unfit() const;
  void tell_health();
  void tell_state();

  runtime::Runtime& runtime_;
  const NodeOptions& options_;
  const cluster::NodeConfig& config_;
  NodeSupplies supplies_;
  NodeLog log_;
  cluster::ResourceMonitor meter_;
  cluster::ResourceUsage usage_;
  runtime::Scope* scope_ = nullptr;  // of all that runs while it takes part
  runtime::Cancellation* joining_ = nullptr;
  runtime::Cancellation* winding_up_ = nullptr;
  runtime::Event leaving_;  // a caller wants it to leave, or it must
  std::string leave_cause_;
  bool gone_ = false;  // from the group
  runtime::Condition gone_changed_;
  bool draining_ = false;
  int exit_code_ = 0;
  std::unique_ptr<NodePort> port_;
  std::unique_ptr<NodeMembers> members_;
  std::unique_ptr<NodeElection> election_;
  std::unique_ptr<NodeAdmin> admin_;
  std::unique_ptr<NodeRoles> roles_;  // last: they use everything above
};

}  // namespace bellwether::node
