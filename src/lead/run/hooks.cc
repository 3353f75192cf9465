#include "lead/run/hooks.h"

#include <csignal>

namespace bellwether::lead {
namespace {

constexpr std::size_t kMostWaiting = 64;
constexpr Duration kMostTime = Duration::seconds(10);

}  // namespace

void Hooks::call(std::string command, Environment environment) {
  if (command.empty()) return;
  if (waiting_.size() >= kMostWaiting) {
    journal_.warn(runtime_.wall_now(), "hooks are slower than what happens; dropped: " + waiting_.front().command);
    waiting_.pop_front();
  }
  waiting_.push_back({std::move(command), std::move(environment)});
  more_.set();
}

runtime::task<void> Hooks::run(runtime::Cancellation* cancel) {
  const runtime::CancelCallback wake(
      cancel, [](void* self) { static_cast<Hooks*>(self)->more_.set(); }, this);
  while (true) {
    while (!waiting_.empty()) {
      Call next = std::move(waiting_.front());
      waiting_.pop_front();
      co_await run_one(std::move(next));
    }
    if (cancel->cancelled()) co_return;
    more_.reset();
    co_await more_.wait();
  }
}

runtime::task<void> Hooks::run_one(Call call) {
  runtime::SpawnOptions options;
  options.argv = {"/bin/sh", "-c", call.command};
  options.environment = std::move(call.environment);
  options.group = runtime::SpawnOptions::Group::kOwnGroup;
  options.no_input = true;
  auto child = co_await runtime_.spawn(std::move(options));
  if (!child) {
    journal_.warn(runtime_.wall_now(), "hook '" + call.command + "': " + child.error().message);
    co_return;
  }
  const Instant deadline = runtime_.read_clock() + kMostTime;
  const auto end = co_await (*child)->wait(deadline, nullptr);
  if (!end) {
    (void)(*child)->signal_group(SIGKILL);
    journal_.warn(runtime_.wall_now(), "hook '" + call.command + "' was killed: it ran for longer than 10 s");
  } else if (!end->succeeded()) {
    journal_.warn(runtime_.wall_now(), "hook '" + call.command + "' failed: " +
                                           (end->signal != 0 ? "signal " + std::to_string(end->signal)
                                                             : "exit code " + std::to_string(end->exit_code)));
  }
}

}  // namespace bellwether::lead
