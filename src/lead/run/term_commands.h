// The commands that one leader runs in its term of office: each under a guardian that ends it with the term, and all
// hear when the times of the term move. One thread, that of its runtime.
#pragma once

#include <set>

#include "core/runtime/cancellation.h"
#include "lead/run/guarded_command.h"

namespace bellwether::lead {

class TermCommands {
 public:
  // `runtime` must outlive it, and it whatever run() has begun.
  explicit TermCommands(runtime::Runtime& runtime) : runtime_(runtime) {}
  TermCommands(const TermCommands&) = delete;
  TermCommands& operator=(const TermCommands&) = delete;

  // The times of the term (boot clock), for what runs and for what begins later.
  void set_deadlines(Instant term_ends, Instant kill_at);
  Instant term_ends() const { return term_ends_; }
  // All that run, or are being started.
  void stop();
  void kill();

  // Until nothing of the command is left. With `stop` it is asked to end, with `kill` it is killed; both may be
  // nullptr. The times in `options` are set here. Errors are those of GuardedCommand::start().
  runtime::task<Result<CommandEnd>> run(CommandOptions options, runtime::Cancellation* stop = nullptr,
                                        runtime::Cancellation* kill = nullptr);

 private:
  runtime::Runtime& runtime_;
  Instant term_ends_;
  Instant kill_at_;
  std::set<GuardedCommand*> running_;
};

}  // namespace bellwether::lead
