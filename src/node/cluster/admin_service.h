// Answers operators (admin_messages.h) from a node's desk. One thread, that of its runtime.
#pragma once

#include <string>
#include <string_view>

#include "cluster/switchboard.h"
#include "node/cluster/node_view.h"

namespace bellwether::node {

class AdminService final : public cluster::Service {
 public:
  // Told who asked for what, of everything that changes something.
  class Audit {
   public:
    virtual ~Audit() = default;
    virtual void on_act(const std::string& by, const std::string& what, const std::string& outcome) = 0;
  };

  // Both must outlive it.
  AdminService(NodeDesk& desk, std::string self, Audit& audit) : desk_(desk), self_(std::move(self)), audit_(audit) {}

  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  // The answer to the request of an operator who is called `by`, as bytes; an error is what the operator is told.
  Result<std::string> answer(std::string_view request, const std::string& by);

 private:
  NodeDesk& desk_;
  std::string self_;
  Audit& audit_;
};

}  // namespace bellwether::node
