#include "lead/run/hooks.h"

#include <algorithm>
#include <csignal>

#include "base/units.h"

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

void Hooks::end_soon() {
  end_by_ = runtime_.read_clock() + kMostTime;
  more_.set();
}

runtime::task<void> Hooks::run(runtime::Cancellation* cancel) {
  const runtime::CancelCallback wake(
      cancel, [](void* self) { static_cast<Hooks*>(self)->end_soon(); }, this);
  while (true) {
    while (!waiting_.empty() && runtime_.read_clock() < end_by_) {
      Call next = std::move(waiting_.front());
      waiting_.pop_front();
      co_await run_one(std::move(next));
    }
    if (cancel->cancelled()) break;
    more_.reset();
    co_await more_.wait();
  }
  for (const Call& call : waiting_) {
    journal_.warn(runtime_.wall_now(), "no time was left for the hook '" + call.command + "'");
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
  const Instant begun = runtime_.read_clock();
  const Instant deadline = std::min(begun + kMostTime, end_by_);
  const auto end = co_await (*child)->wait(deadline, nullptr);
  if (!end) {
    (void)(*child)->signal_group(SIGKILL);
    journal_.warn(runtime_.wall_now(), "hook '" + call.command + "' was killed: it ran for " +
                                           format_duration(runtime_.read_clock() - begun));
  } else if (!end->succeeded()) {
    journal_.warn(runtime_.wall_now(), "hook '" + call.command + "' failed: " +
                                           (end->signal != 0 ? "signal " + std::to_string(end->signal)
                                                             : "exit code " + std::to_string(end->exit_code)));
  }
}

}  // namespace bellwether::lead
