#include "lead/roles/key_role.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include "cluster/node/node_election.h"
#include "core/runtime/event.h"

namespace bellwether::node {
namespace {

using runtime::task;

// The end to read from. The key fits into any pipe (PIPE_BUF is 4,096 bytes).
Result<int> pipe_with(Bytes key) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno(errno, "creating a pipe for the key");
  const bool written = ::write(ends[1], key.data(), key.size()) == static_cast<ssize_t>(key.size());
  const int why = errno;
  ::close(ends[1]);
  // The reader never waits, as all of the key is there; but programs do not expect a non-blocking pipe.
  if (written && ::fcntl(ends[0], F_SETFL, 0) == 0) return ends[0];
  ::close(ends[0]);
  return fail_errno(why, "creating a pipe for the key");
}

}  // namespace

task<Status> KeyRole::prepare(const NodeTools& tools) {
  runtime_ = &tools.runtime;
  election_ = &tools.election;
  log_ = &tools.log;
  co_return Status();
}

task<void> KeyRole::run(runtime::Cancellation* cancel) {
  runtime::Event over;
  const runtime::CancelCallback on_cancel(
      cancel, [](void* event) { static_cast<runtime::Event*>(event)->set(); }, &over);
  co_await over.wait();
  ending_ = true;
  if (running_ != nullptr) running_->stop();
  co_await scope_.join();
}

// The guardian knows the end of the term also when this process hangs.
void KeyRole::on_renewed(Instant ends, Duration) {
  if (running_ != nullptr) running_->set_deadlines(ends, ends + grace_);
}

void KeyRole::on_drain(const std::string&) { stop(); }

// REQUIRES that nothing of the command runs: the election hands a key out only after that report.
void KeyRole::on_admin_key(const election::TermOfOffice& term, secret::SecretBytes key) {
  if (ending_) return;
  busy_ = true;
  scope_.spawn(work(term, std::move(key)));
}

void KeyRole::stop() {
  if (!busy_) return election_->leadership()->work_stopped();
  stopping_ = true;
  if (running_ != nullptr) running_->stop();
}

task<void> KeyRole::work(election::TermOfOffice term, secret::SecretBytes key) {
  const auto from = pipe_with(key.bytes());
  key = {};
  if (!from) {
    log_->note(true, from.error().message);
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
  auto created = lead::GuardedCommand::create(*runtime_, std::move(options));
  if (!created) {
    ::close(*from);
    log_->note(true, "'vote.key_command': " + created.error().message);
    co_return gone();
  }
  running_ = std::move(*created);
  const Status started = co_await running_->start();
  ::close(*from);
  lead::CommandEnd end;
  if (started) end = co_await running_->wait_until_gone();
  if (!started) {
    log_->note(true, "'vote.key_command': " + started.error().message);
  } else if (!end.asked) {
    log_->note(true, fmt::format("'vote.key_command' ended by itself with exit code {}; this node stays the admin and "
                                 "starts it again in its next term",
                                 end.shell_code()));
  }
  running_.reset();
  gone();
}

void KeyRole::gone() {
  busy_ = false;
  if (std::exchange(stopping_, false)) election_->leadership()->work_stopped();
}

}  // namespace bellwether::node
