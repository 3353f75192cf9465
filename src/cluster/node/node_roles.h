// The roles of a node, as one: the events for them, and their combined answers. One thread.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/net/leadership.h"
#include "cluster/net/resource_monitor.h"
#include "cluster/node/node_format.h"
#include "cluster/node/node_page.h"
#include "cluster/node/node_supplies.h"
#include "cluster/vote/vote_driver.h"
#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "core/secret/commitment.h"

namespace bellwether::node {

// The purpose of a node, beside being a member of its cluster: a manager hands out jobs, a worker makes load, a leader
// of contexts makes these while it leads. The maker of a node gives it its roles; the node knows none of them.
class NodeElection;
class NodeMembers;
class NodePort;
struct NodeOptions;

// What a node has for its roles. All of it outlives them.
struct NodeTools {
  runtime::Runtime& runtime;
  const NodeOptions& options;
  NodeSupplies& supplies;
  NodePort& port;              // its links and its router, where a role registers its messages
  const NodeMembers& members;  // the members of the cluster
  NodeElection& election;      // the leader
  NodeLog& log;
};

// Calls come one after the other, on the thread of the runtime; all but the tasks must not wait.
class NodeRole : public election::TermListener {
 public:
  // Once, before everything else, when the node has found its cluster. An error: it cannot do its work, and the node
  // ends. Roles are prepared and started in their order, and end in the reverse order.
  virtual runtime::task<Status> prepare(const NodeTools& tools) = 0;
  // Does its work until cancelled, and ends it in good order then.
  virtual runtime::task<void> run(runtime::Cancellation*) { co_return; }
  // The node is about to leave: the role takes nothing new and finishes its work, at most until `deadline`.
  virtual runtime::task<void> wind_up(Instant /*deadline*/, runtime::Cancellation*) { co_return; }
  // drains(): whether it has something to drain. drain(): like wind_up(), but without a limit, and it stops nothing;
  // false: it was cancelled.
  virtual bool drains() const { return false; }
  virtual runtime::task<bool> drain(runtime::Cancellation*) { co_return true; }

  // The process of another node has ended: it left in good order, or its machine refuses connections to it.
  virtual void on_ended(const std::string& /*name*/, const std::string& /*why*/) {}
  // The events of membership for another node: it is dead or has left; it has joined, or is another process now.
  virtual void on_gone(const std::string& /*name*/, const std::string& /*why*/) {}
  virtual void on_there(const std::string& /*name*/) {}
  // About once a second. `health_score`: of this node, 0 to 8.
  virtual void on_resource_usage(const cluster::ResourceUsage&, int /*health_score*/) {}

  // The events of the election (cluster/net/leadership.h). A role with work that only a leader may do calls
  // work_stopped() of the leadership itself, as stated there; a node has at most one such role.
  virtual bool works_while_leading() const { return false; }
  void on_elected(const election::TermOfOffice&) override {}
  void on_drain(const std::string& /*cause*/) override {}
  void on_term_ended(const election::TermEnded&) override {}
  virtual void on_leader_changed(const std::string& /*leader*/, election::Term, const std::string& /*evidence*/) {}
  // Until nothing of that work runs any more; only the election and the role itself make that so.
  virtual runtime::task<void> work_ended() { co_return; }
  // Whether it reports terms to people itself; else the node does.
  virtual bool tells_of_terms() const { return false; }
  // Whether it works with the key that only an elected admin has. on_admin_key() gives it
  // (cluster/vote/key_recovery.h).
  virtual bool takes_admin_key() const { return false; }
  virtual void on_admin_key(const election::TermOfOffice&, secret::SecretBytes) {}
  // The fitness of this node as a leader of contexts, 0 to 1; nothing while it leads none.
  virtual std::optional<double> context_fitness() const { return std::nullopt; }

  // Empty while it can do its work, else why not.
  virtual std::string obstacle() const { return {}; }
  // Adds its knowledge: of its work, and of the jobs that it keeps.
  virtual void describe(QuorumView&) const {}
  virtual void describe(ManagersView&) const {}
  // Begins a change of the nodes that keep jobs, where these are not the voters. kRefused says why not.
  virtual Status change_managers(bool /*add*/, const std::string& /*name*/) {
    return fail(Errc::kUnsupported, "this node keeps no jobs");
  }
  // Its progress in one word (cluster/health/signals.h); empty when others report it.
  virtual std::string progress() const { return {}; }
  // For the page of metrics.
  virtual std::vector<Figure> figures() const { return {}; }
};

class NodeRoles final {
 public:
  explicit NodeRoles(std::vector<std::shared_ptr<NodeRole>> roles) : roles_(std::move(roles)) {}
  ~NodeRoles();
  NodeRoles(const NodeRoles&) = delete;
  NodeRoles& operator=(const NodeRoles&) = delete;

  runtime::task<Status> prepare(const NodeTools& tools);
  // In their order. REQUIRES that stop() follows, unless the whole process ends at once.
  void start();
  // From the last one to the first, as far as each stands on those before it.
  runtime::task<void> wind_up(Instant deadline, runtime::Cancellation* cancel);
  runtime::task<void> stop();
  bool drains() const;
  runtime::task<bool> drain(runtime::Cancellation* cancel);

  // Calls act(NodeRole&) for each.
  template <class Act>
  void each(Act act) const {
    for (const std::shared_ptr<NodeRole>& role : roles_) act(*role);
  }
  // False: no role has work that only a leader may do, and none says that it has stopped.
  bool work_while_leading() const;
  runtime::task<void> work_ended();
  bool tell_of_terms() const;
  bool take_admin_key() const;

  // Of the first that has one.
  std::string obstacle() const;
  std::string progress() const;
  std::vector<Figure> figures() const;

  void on_admin_key(const election::TermOfOffice& term, secret::SecretBytes key);
  std::optional<double> context_fitness() const;

 private:
  std::vector<std::shared_ptr<NodeRole>> roles_;
  std::list<runtime::Scope> running_;  // one for each role
};

}  // namespace bellwether::node
