// An operator's command that works with the key of an admin while this node is the admin. It starts when the key was
// put together, gets a stop signal when the term ends, and is killed with all its descendants before another admin can
// act. It lives under a guardian (lead/run/guardian.h), so this holds even when this process hangs or is killed.
//
// The key comes through a pipe, whose descriptor is the number in BELLWETHER_KEY_FD. It is in no file, no argument and
// no variable, and this process no longer has it once the command runs. BELLWETHER_KEY, BELLWETHER_HOLDER and
// BELLWETHER_EPOCH describe the term, as in `bellwether lead`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/node/node_roles.h"
#include "core/runtime/scope.h"
#include "lead/run/guarded_command.h"

namespace bellwether::node {

class KeyRole final : public NodeRole {
 public:
  // `grace`: the command's time after the end of its term.
  KeyRole(std::vector<std::string> command, Duration grace) : command_(std::move(command)), grace_(grace) {}

  runtime::task<Status> prepare(const NodeTools& tools) override;
  // When it ends, no process of the command runs.
  runtime::task<void> run(runtime::Cancellation* cancel) override;
  bool works_while_leading() const override { return true; }
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override;
  void on_term_ended(const election::TermEnded& ended) override {
    if (ended.work_runs) stop();
  }
  bool takes_admin_key() const override { return true; }
  void on_admin_key(const election::TermOfOffice& term, secret::SecretBytes key) override;

 private:
  // Reports that the work has stopped when no process of it runs.
  void stop();
  runtime::task<void> work(election::TermOfOffice term, secret::SecretBytes key);
  void gone();

  std::vector<std::string> command_;
  Duration grace_;
  runtime::Runtime* runtime_ = nullptr;
  NodeElection* election_ = nullptr;
  NodeLog* log_ = nullptr;
  std::unique_ptr<lead::GuardedCommand> running_;
  bool busy_ = false;      // it starts or runs
  bool ending_ = false;    // for good
  bool stopping_ = false;  // the election waits for its end
  runtime::Scope scope_;   // last: its coroutines use everything above
};

}  // namespace bellwether::node
