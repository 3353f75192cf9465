// A command of the operator's that works with the key of an admin, for as long as this node is the admin: started when
// the key was put together, asked to stop when the term ends, and killed with all that it has started before another
// admin can act. It lives under a guardian (lead/run/guardian.h), so that this holds when this process hangs or is
// killed, too.
//
// The key comes through a pipe, whose descriptor is the number in BELLWETHER_KEY_FD: it is in no file, no argument and
// no variable, and this process has it no more once the command runs. BELLWETHER_KEY, BELLWETHER_HOLDER and
// BELLWETHER_EPOCH say for what it leads, as `bellwether lead` does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "election/term_of_office.h"
#include "lead/run/guarded_command.h"
#include "runtime/scope.h"
#include "secret/secret_bytes.h"

namespace bellwether::node {

class KeyCommand {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // After stop(): nothing of the command runs any more.
    virtual void on_key_command_gone() = 0;
    virtual void on_key_command_note(bool warning, const std::string& text) = 0;
  };

  // `grace`: what the command may still do after the end of its term. All must outlive it.
  KeyCommand(runtime::Runtime& runtime, std::vector<std::string> command, Duration grace, Listener& listener)
      : runtime_(runtime), command_(std::move(command)), grace_(grace), listener_(listener) {}

  // REQUIRES that nothing of the command runs. In `scope` until nothing does again.
  void start(const election::TermOfOffice& term, secret::SecretBytes key, runtime::Scope& scope);
  // False: nothing of it runs, and nobody is called.
  bool stop();

 private:
  runtime::task<void> run(election::TermOfOffice term, secret::SecretBytes key);
  runtime::task<void> keep_deadlines(election::TermOfOffice term, runtime::Cancellation* done);
  void gone();

  runtime::Runtime& runtime_;
  std::vector<std::string> command_;
  Duration grace_;
  Listener& listener_;
  std::unique_ptr<lead::GuardedCommand> running_;
  bool busy_ = false;      // it starts or runs
  bool stopping_ = false;  // somebody waits for its end
};

}  // namespace bellwether::node
