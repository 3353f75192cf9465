#include "lead/drill/attached.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include "core/base/bytes.h"
#include "election/store/lease_store.h"

namespace bellwether::lead {
namespace {

using runtime::task;

constexpr Duration kMaxCommand = Duration::minutes(1);

}  // namespace

int64_t pid_in_name(const std::string& holder, const std::string& this_host) {
  const auto colon = holder.rfind(':');
  if (colon == std::string::npos || this_host.empty() || holder.substr(0, colon) != this_host) return 0;
  const auto pid = parse_u64(std::string_view(holder).substr(colon + 1));
  return pid && *pid <= INT32_MAX ? static_cast<int64_t>(*pid) : 0;
}

Result<int64_t> Attached::process_of(const std::string& holder) {
  int64_t pid = pid_in_name(holder, runtime_.self().host);
  for (const auto& [name, given] : options_.pids) {
    if (name == holder) pid = given;
  }
  if (pid <= 1 || pid == runtime_.self().pid) {
    return fail(Errc::kNotFound,
                "the process of '{}' is unknown on this machine: name it with --pid '{}=PID', or use --break-with and "
                "a command that reaches it",
                holder, holder);
  }
  if (const Status same = known_.same(pid, runtime_.look_at_process(pid)); !same) {
    return fail(same.error().code, fmt::format("'{}' should be process {}, {}", holder, pid, same.error().message));
  }
  return pid;
}

Status KnownProcesses::same(int64_t pid, const runtime::ProcessSight& seen) {
  if (seen.state == runtime::ProcessSight::State::kDead) {
    return fail(Errc::kNotFound, "which does not run on this machine");
  }
  const auto known = begun_.find(pid);
  if (known == begun_.end() && !killed_.contains(pid)) {
    if (seen.start_time) begun_.emplace(pid, *seen.start_time);
    return {};
  }
  if (known != begun_.end() && known->second == seen.start_time) return {};
  return fail(Errc::kNotFound, "which has ended; another process may have its id now");
}

task<Status> Attached::start() {
  for (const auto& [name, pid] : options_.pids) {
    [[maybe_unused]] const Status runs = known_.same(pid, runtime_.look_at_process(pid));
  }
  co_return Status();
}

task<Status> Attached::break_one(std::string holder, uint64_t epoch) {
  holder_ = std::move(holder);
  epoch_ = epoch;
  const auto pid = process_of(holder_);
  pid_ = pid.value_or(0);
  if (options_.fault == DrillFault::kCommand) {
    auto done = co_await command(options_.break_command);
    co_return done;
  }
  BW_CO_RETURN_IF_ERROR(pid);
  const bool pause = options_.fault == DrillFault::kPause;
  if (::kill(static_cast<pid_t>(pid_), pause ? SIGSTOP : SIGKILL) != 0) {
    co_return fail_errno(errno, fmt::format("process {} of '{}'", pid_, holder_));
  }
  paused_ = pause;
  if (!pause) known_.killed(pid_);
  co_return Status();
}

task<Status> Attached::repair() {
  if (std::exchange(paused_, false)) ::kill(static_cast<pid_t>(pid_), SIGCONT);
  if (options_.repair_command.empty() || holder_.empty()) co_return Status();
  auto done = co_await command(options_.repair_command);
  holder_.clear();
  co_return done;
}

task<void> Attached::stop() { [[maybe_unused]] const Status repaired = co_await repair(); }

task<Status> Attached::command(std::string text) {
  runtime::SpawnOptions spawn;
  spawn.argv = {"/bin/sh", "-c", "exec 2>&1\n" + text};
  spawn.environment = {{"BELLWETHER_HOLDER", holder_},
                       {"BELLWETHER_EPOCH", std::to_string(epoch_)},
                       {"BELLWETHER_KEY", options_.loop.lock_key},
                       {"BELLWETHER_PID", pid_ > 0 ? std::to_string(pid_) : std::string()}};
  spawn.no_input = true;
  spawn.capture = 64 * 1024;  // standard output is that of the report
  BW_CO_TRY(auto child, co_await runtime_.spawn(std::move(spawn)));
  const auto end = co_await child->wait(runtime_.read_clock() + kMaxCommand, nullptr);
  if (!end) co_return fail(Errc::kTimeout, "'{}' does not end", text);
  child->let_go();
  if (!end->succeeded()) co_return fail(Errc::kInvalid, "'{}' failed{}", text, last_lines(child->output()));
  co_return Status();
}

task<Result<std::unique_ptr<KeyWatch>>> KeyWatch::open(runtime::Runtime& runtime, std::string url, std::string key) {
  std::unique_ptr<KeyWatch> watch(new KeyWatch(runtime));
  BW_CO_TRY(watch->store_, co_await store::open_store(runtime, std::move(url)));
  BW_CO_TRY(watch->key_, watch->store_->open(std::move(key)));
  co_return watch;
}

task<void> KeyWatch::look(ActLog& log, Duration timeout) {
  const Instant before = runtime_.boot_now();
  const auto seen = co_await key_->look(runtime_.read_clock() + timeout, nullptr);
  if (!seen) co_return;
  held_ = seen->present && seen->record.held();
  if (!held_ || seen->version == version_) co_return;
  version_ = seen->version;
  // The state is at most as old as the store's answer time.
  log.note(seen->record.holder, seen->record.epoch.value(), before);
}

}  // namespace bellwether::lead
