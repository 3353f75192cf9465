// Of a manager or gate that keeps the registers of jobs, unless an etcd has them (cluster/register/job_keeper.h).
#pragma once

#include <memory>
#include <string>

#include "cluster/register/job_keeper.h"
#include "node/cluster/node_role.h"

namespace bellwether::node {

class RegisterRole final : public NodeRole, public registers::NoteListener {
 public:
  runtime::task<Status> prepare(const NodeTools& tools) override;
  runtime::task<void> run(runtime::Cancellation* cancel) override { return keeper_->run(cancel); }
  void describe(QuorumView& view) const override;

  // After prepare().
  registers::Lines& lines() { return *lines_; }
  const jobs::JobKeeper& keeper() const { return *keeper_; }

 private:
  void on_note(bool warning, const std::string& text) override { log_->note(warning, text); }

  NodeLog* log_ = nullptr;
  std::unique_ptr<registers::Lines> lines_;
  std::unique_ptr<jobs::JobKeeper> keeper_;
};

}  // namespace bellwether::node
