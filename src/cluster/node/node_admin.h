// The part of a node that answers operators and pages: it combines the other parts' knowledge of the cluster, and does
// what operators may ask for. One thread, that of its runtime.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/net/message_router.h"
#include "cluster/node/admin_messages.h"
#include "cluster/node/node_election.h"
#include "cluster/node/node_page.h"
#include "core/base/callback.h"

namespace bellwether::node {

// Answers operators (admin_messages.h) from a node's kernel. One thread, that of its runtime.
class AdminService final : public cluster::Service {
 public:
  // Called with the author and the request for everything that changes something.
  using Audit = Callback<void(const std::string& by, const std::string& what, const std::string& outcome)>;

  // Both must outlive it.
  AdminService(NodeControl& kernel, std::string self, Audit audit)
      : kernel_(kernel), self_(std::move(self)), audit_(audit) {}

  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  // The answer to the request of an operator named `by`, as bytes; an error is sent to the operator.
  Result<std::string> answer(std::string_view request, const std::string& by);

 private:
  NodeControl& kernel_;
  std::string self_;
  Audit audit_;
};

class NodeAdmin final : public NodeControl {
 public:
  // All must outlive it.
  NodeAdmin(runtime::Runtime& runtime, const cluster::NodeConfig& config, NodePort& port, NodeMembers& members,
            NodeElection& election, NodeRoles& roles, NodeLog& log, ClusterNode& node);
  NodeAdmin(const NodeAdmin&) = delete;
  NodeAdmin& operator=(const NodeAdmin&) = delete;
  ~NodeAdmin() override;

  // Answers from now on, in `scope`. REQUIRES members and an election that are made. An error: the page has no address.
  runtime::task<Status> open(runtime::Scope& scope);
  void on_resource_usage(const cluster::ResourceUsage& signs) { usage_ = signs; }

  std::vector<MemberView> members() const override;
  LeaderView leader() const override { return election_.view(); }
  QuorumView quorum() const override;
  Result<cluster::VoteView> last_vote() const override;
  std::vector<cluster::VoteMessageView> vote_messages() const override;
  std::string degradation() const override { return to_string(members_.kernel().degradation()); }
  int health_score() const override { return members_.kernel().health_score(); }
  std::string not_ready() const override { return node_.not_ready(); }
  bool joined() const override { return members_.joined(); }
  std::string progress() const override { return roles_.progress(); }
  Result<std::string> leave(const std::string& who) override;
  Result<std::string> drain(const std::string& who) override;
  Result<std::string> transfer(const std::string& to) override { return election_.transfer(to); }
  Result<std::string> call_election(bool forced) override { return election_.call_election(forced); }
  Result<std::string> change_voters(bool add, const std::string& name) override;
  ManagersView managers() const override;
  Result<std::string> change_managers(bool add, const std::string& name) override;
  Result<std::string> learn_secret(std::string secret) override { return port_.learn_secret(std::move(secret)); }
  Result<std::string> use_secret(uint32_t id) override { return port_.use_secret(id); }
  Result<std::string> forget_secret(uint32_t id) override { return port_.forget_secret(id); }
  std::vector<uint32_t> secrets() const override { return port_.keyring().ids(); }

 private:
  void on_act(const std::string& by, const std::string& what, const std::string& outcome);
  Status known(const std::string& name) const;  // to the cluster: kRefused
  std::vector<Figure> figures() const;
  std::optional<cluster::VoteView> vote() const;

  runtime::Runtime& runtime_;
  const cluster::NodeConfig& config_;
  NodePort& port_;
  NodeMembers& members_;
  NodeElection& election_;
  NodeRoles& roles_;
  NodeLog& log_;
  ClusterNode& node_;
  cluster::ResourceUsage usage_;
  NodeProbes probes_;
  AdminService service_;
  bool connected_ = false;
  NodePage page_;
  std::unique_ptr<web::HttpServer> http_;
};

}  // namespace bellwether::node
