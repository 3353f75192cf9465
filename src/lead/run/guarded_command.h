// A command that runs under a guardian (guardian.h), seen from the leader's process. One thread, that of its runtime.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/processes.h"
#include "core/runtime/runtime.h"
#include "lead/run/guardian.h"

namespace bellwether::lead {

struct CommandOptions {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;
  int stop_signal = 15;
  int lock_fd = -1;              // held until nothing of the command is left; -1: none
  bool command_has_lock = true;  // and by the command and its children, should its guardian die
  std::vector<int> more_open;    // further descriptors that the command has
  Instant term_ends;             // boot clock
  Instant kill_at;
};

// How it ended: by itself, or because it was asked or made to.
struct CommandEnd : runtime::ChildEnd {
  bool asked = false;
  // A command that got a stop signal may exit with 0 without having done its work.
  bool did_its_work() const { return succeeded() && !asked; }
  // As a shell would say it.
  int shell_code() const { return signal != 0 ? 128 + signal : exit_code; }
};

// "exit code 3", "signal 9".
std::string how_it_ended(const runtime::ChildEnd& end);

class GuardedCommand {
 public:
  // A command that is not started. Orders from here on hold: a start may take longer than a lease, which is renewed
  // meanwhile, or lost.
  static Result<std::unique_ptr<GuardedCommand>> create(runtime::Runtime& runtime, CommandOptions options);
  ~GuardedCommand();
  // Once. Fails when the guardian or the command cannot be started; kNotFound and kRefused as for any program. Nothing
  // of it is left then.
  runtime::task<Status> start();

  // Moves the times by which it must end; they reach the guardian at once.
  void set_deadlines(Instant term_ends, Instant kill_at);
  void stop();
  void kill();
  void signal(int number);

  // When no process of it is left, children included. Kills it itself when the time has come and the guardian has not
  // done it, or is gone.
  runtime::task<CommandEnd> wait_until_gone();

 private:
  GuardedCommand(runtime::Runtime& runtime, CommandOptions options, DeadlinePage page, int socket_fd, int guardian_fd);
  runtime::task<std::string> hear(Instant deadline, runtime::Cancellation* cancel);
  void tell(const std::string& text);
  bool kill_ourselves() const;

  runtime::Runtime& runtime_;
  CommandOptions options_;
  DeadlinePage page_;
  int socket_fd_;
  int guardian_fd_;   // the other end of it, until the guardian has it
  std::string mark_;  // "NAME=VALUE" in the environment of all that the guardian started
  std::unique_ptr<runtime::Child> guardian_;
  int64_t pid_ = 0;  // of the command, and of its process group
  bool asked_ = false;
};

// The commands that a leader runs in its term of office: each under a guardian that ends it with the term, and each
// receives the changes of the term's times. One thread, that of its runtime.
class TermCommands {
 public:
  // `runtime` must outlive it, and it must outlive all coroutines of run().
  explicit TermCommands(runtime::Runtime& runtime) : runtime_(runtime) {}
  TermCommands(const TermCommands&) = delete;
  TermCommands& operator=(const TermCommands&) = delete;

  // The times of the term (boot clock), for present and later commands.
  void set_deadlines(Instant term_ends, Instant kill_at);
  Instant term_ends() const { return term_ends_; }
  // All that run, or are being started.
  void stop();
  void kill();

  // Until no process of the command is left. `stop` sends the stop signal, `kill` kills it; both may be nullptr. The
  // times in `options` are set here. Errors are those of GuardedCommand::start().
  runtime::task<Result<CommandEnd>> run(CommandOptions options, runtime::Cancellation* stop = nullptr,
                                        runtime::Cancellation* kill = nullptr);

 private:
  runtime::Runtime& runtime_;
  Instant term_ends_;
  Instant kill_at_;
  std::set<GuardedCommand*> running_;
};

}  // namespace bellwether::lead
