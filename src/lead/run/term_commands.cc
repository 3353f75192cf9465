#include "lead/run/term_commands.h"

namespace bellwether::lead {

void TermCommands::set_deadlines(Instant term_ends, Instant kill_at) {
  term_ends_ = term_ends;
  kill_at_ = kill_at;
  for (GuardedCommand* const one : running_) one->set_deadlines(term_ends, kill_at);
}

void TermCommands::stop() {
  for (GuardedCommand* const one : running_) one->stop();
}

void TermCommands::kill() {
  for (GuardedCommand* const one : running_) one->kill();
}

runtime::task<Result<CommandEnd>> TermCommands::run(CommandOptions options, runtime::Cancellation* stop,
                                                    runtime::Cancellation* kill) {
  options.term_ends = term_ends_;
  options.kill_at = kill_at_;
  BW_CO_TRY(const auto command, GuardedCommand::create(runtime_, std::move(options)));
  running_.insert(command.get());
  const runtime::CancelCallback on_stop(
      stop, [](void* one) { static_cast<GuardedCommand*>(one)->stop(); }, command.get());
  const runtime::CancelCallback on_kill(
      kill, [](void* one) { static_cast<GuardedCommand*>(one)->kill(); }, command.get());
  const Status started = co_await command->start();
  CommandEnd end;
  if (started) end = co_await command->wait_until_gone();
  running_.erase(command.get());
  if (!started) co_return tl::unexpected(started.error());
  co_return end;
}

}  // namespace bellwether::lead
