// The roles of a node, as one: what is told to them, and what they say together. One thread.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "cluster/node/node_role.h"
#include "cluster/vote/vote_driver.h"
#include "core/runtime/scope.h"

namespace bellwether::node {

class NodeRoles final : public cluster::KeyReceiver, public cluster::FitnessSource {
 public:
  explicit NodeRoles(std::vector<std::shared_ptr<NodeRole>> roles) : roles_(std::move(roles)) {}
  ~NodeRoles() override;
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
  // False: none has work that only a leader may do, and nobody says that it has stopped.
  bool work_while_leading() const;
  runtime::task<void> work_ended();
  bool tell_of_terms() const;
  bool take_admin_key() const;

  // Of the first that has one.
  std::string obstacle() const;
  std::string progress() const;
  std::vector<Figure> figures() const;

  void on_admin_key(const election::TermOfOffice& term, secret::SecretBytes key) override;
  std::optional<double> context_fitness() const override;

 private:
  std::vector<std::shared_ptr<NodeRole>> roles_;
  std::list<runtime::Scope> running_;  // one for each role
};

}  // namespace bellwether::node
