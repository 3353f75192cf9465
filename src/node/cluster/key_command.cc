#include "node/cluster/key_command.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include "runtime/descriptor.h"

namespace bellwether::node {
namespace {

using runtime::task;

// The end to read from. The key fits into any pipe (PIPE_BUF is 4,096 bytes).
Result<int> pipe_with(Bytes key) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno(errno, "a pipe for the key");
  const bool written = ::write(ends[1], key.data(), key.size()) == static_cast<ssize_t>(key.size());
  const int why = errno;
  ::close(ends[1]);
  // Who reads waits for nothing, as all of it is there; but programs do not expect a pipe that would not wait.
  if (written && ::fcntl(ends[0], F_SETFL, 0) == 0) return ends[0];
  ::close(ends[0]);
  return fail_errno(why, "a pipe for the key");
}

}  // namespace

void KeyCommand::start(const election::TermOfOffice& term, secret::SecretBytes key, runtime::Scope& scope) {
  busy_ = true;
  scope.spawn(run(term, std::move(key)));
}

bool KeyCommand::stop() {
  if (!busy_) return false;
  stopping_ = true;
  if (running_ != nullptr) running_->stop();
  return true;
}

task<void> KeyCommand::run(election::TermOfOffice term, secret::SecretBytes key) {
  const auto from = pipe_with(key.bytes());
  key = {};
  if (!from) {
    listener_.on_key_command_note(true, from.error().message);
    co_return gone();
  }
  lead::CommandOptions options;
  options.command = command_;
  options.environment = {{"BELLWETHER_KEY_FD", std::to_string(*from)},
                         {"BELLWETHER_KEY", term.key},
                         {"BELLWETHER_HOLDER", term.holder},
                         {"BELLWETHER_EPOCH", std::to_string(term.epoch.value())}};
  options.term_ends = term.end->ends_at();
  options.kill_at = options.term_ends + grace_;
  options.more_open = {*from};
  auto command = co_await lead::GuardedCommand::start(runtime_, std::move(options));
  ::close(*from);
  if (!command) {
    listener_.on_key_command_note(true, "'vote.key_command': " + command.error().message);
    co_return gone();
  }
  running_ = std::move(*command);
  if (stopping_) running_->stop();
  runtime::Scope beside;
  beside.spawn(keep_deadlines(term, beside.cancellation()));
  const lead::CommandEnd end = co_await running_->wait_until_gone();
  beside.cancel();
  co_await beside.join();
  if (!end.asked) {
    listener_.on_key_command_note(true, "'vote.key_command' has ended by itself, with exit code " +
                                            std::to_string(end.shell_code()) +
                                            "; this node stays the admin, and starts it in its next term");
  }
  running_.reset();
  gone();
}

// The guardian knows the end of the term also when this process hangs.
task<void> KeyCommand::keep_deadlines(election::TermOfOffice term, runtime::Cancellation* done) {
  while (co_await runtime_.sleep(grace_, done)) {
    const Instant ends = term.end->ends_at();
    // A term that was cut short leaves the time to be killed as it was: no later than the last promise runs out.
    if (ends == Instant()) co_return running_->stop();
    running_->set_deadlines(ends, ends + grace_);
  }
}

void KeyCommand::gone() {
  busy_ = false;
  if (std::exchange(stopping_, false)) listener_.on_key_command_gone();
}

}  // namespace bellwether::node
