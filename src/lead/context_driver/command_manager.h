// The context manager that runs a command for each attempt at a request, under a guardian (lead/run/guardian.h), which
// ends it with the term even if this process fails.
//
// The command reads the payload from its standard input, or from the file $BELLWETHER_CONTEXT_PAYLOAD. Its standard
// output is the result, at most 64 KiB; the end of its standard error is the reason of a failure. Exit code 0: done. It
// also sees
//   BELLWETHER_CONTEXT_REQUEST   the id of the request
//   BELLWETHER_EPOCH             the epoch of the leader, and
//   BELLWETHER_CONTEXT_ATTEMPT   the number of the attempt: together the fence of all that it changes
//   BELLWETHER_CONTEXT_PRIORITY  0 to 255
//   BELLWETHER_CONTEXT_DEADLINE  when it will be stopped, seconds of the Unix epoch
//   BELLWETHER_HOLDER            the name of this node
#pragma once

#include <string>
#include <vector>

#include "lead/context_driver/context_jobs.h"
#include "lead/run/guarded_command.h"

namespace bellwether::cluster {

struct CommandManagerSettings {
  std::vector<std::string> command;          // program and arguments, one at least
  std::string node;                          // its name
  uint32_t slots = 1;                        // attempts at a time
  Duration timeout = Duration::minutes(10);  // of an attempt; then it is stopped
  Duration grace = Duration::seconds(10);    // from there on until it is killed
};

// One thread, that of its runtime.
class CommandManager final : public ContextManager {
 public:
  // The runtime must outlive it, and it all coroutines of run(). REQUIRES a command.
  CommandManager(runtime::Runtime& runtime, CommandManagerSettings settings);
  CommandManager(const CommandManager&) = delete;
  CommandManager& operator=(const CommandManager&) = delete;

  const context_lead::ManagerConfig& config() const override { return config_; }
  // A command that cannot start, takes longer than the timeout, ends with another code than 0, or has a larger result,
  // has failed.
  runtime::task<ContextJobEnd> run(ContextJob job, runtime::Cancellation* stop, runtime::Cancellation* kill) override;
  void set_term_end(Instant end) override { commands_.set_deadlines(end, end); }

 private:
  struct Files;
  struct Limit;
  std::vector<std::pair<std::string, std::string>> environment_of(const ContextJob& job, const Files& files) const;
  static runtime::task<void> keep_limit(Limit* limit, runtime::Cancellation* cancel);

  runtime::Runtime& runtime_;
  CommandManagerSettings settings_;
  context_lead::ManagerConfig config_;
  lead::TermCommands commands_;
};

}  // namespace bellwether::cluster
