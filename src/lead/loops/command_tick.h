// A tick that is a command: it runs under a guardian (lead/run/guardian.h), which ends it in time whatever becomes of
// this process. It sees BELLWETHER_LOOP, BELLWETHER_KEY, BELLWETHER_HOLDER and BELLWETHER_EPOCH, the fence of all that
// it changes, and may write lines to the descriptor BELLWETHER_REPORT_FD: "stale_jobs N" (work that is overdue now) and
// "orphan_replayed N" (more work that was begun again).
#pragma once

#include <memory>
#include <string>

#include "lead/loops/leader_loop.h"
#include "lead/metrics/lease_figures.h"
#include "lead/run/guarded_command.h"

namespace bellwether::lead {

class CommandTick final : public LoopWork {
 public:
  // All must outlive it. `command`: for /bin/sh -c.
  CommandTick(runtime::Runtime& runtime, store::StoreKey& key, std::string loop, std::string command,
              LeaseFigures& figures);
  CommandTick(const CommandTick&) = delete;
  CommandTick& operator=(const CommandTick&) = delete;
  ~CommandTick() override;

  // Fails with the command's exit code or signal.
  runtime::task<Status> tick(election::TermOfOffice term, Instant kill_at, runtime::Cancellation* cancel) override;
  void deadlines_moved(Instant term_ends, Instant kill_at) override;

 private:
  CommandOptions options_for(const election::TermOfOffice& term, Instant kill_at) const;
  void take_report();

  runtime::Runtime& runtime_;
  store::StoreKey& key_;
  std::string loop_;
  std::string command_text_;
  LeaseFigures& figures_;
  std::unique_ptr<GuardedCommand> command_;
  int report_read_ = -1;
  int report_write_ = -1;
};

}  // namespace bellwether::lead
