// bellwether watch: keeps the leader's process alive, and ends one that is alive and does no work.

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/lead/agents.h"
#include "cli/lead/lease.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/scope.h"
#include "election/store/disk/small_file.h"
#include "lead/agents/agent_registry.h"
#include "lead/agents/fleet_files.h"
#include "lead/agents/watchdog.h"

namespace bellwether::cli {
namespace {

using lead::Watchdog;
using lead::WatchdogAct;
using lead::WatchdogSight;
using nlohmann::json;
using runtime::Child;
using runtime::EpollRuntime;
using runtime::task;

constexpr Duration kStoreTimeout = Duration::seconds(5);

struct WatchOptions {
  std::string via;
  std::string key;
  std::string registry;
  std::string id;
  std::string state;
  std::string profile = "production";
  std::optional<Duration> interval;
  std::optional<Duration> stale_after;
  Duration grace = Duration::seconds(10);
  bool restart = false;
  std::vector<std::string> command;
};

// A line of the log.
void say(runtime::Runtime& runtime, const std::string& text) {
  std::fprintf(stderr, "%s bellwether watch: %s\n", format_wall(runtime.wall_now()).c_str(), printable(text).c_str());
}

std::string describe(const runtime::ChildEnd& end) {
  return end.signal != 0 ? fmt::format("signal {}", end.signal) : fmt::format("exit code {}", end.exit_code);
}

class Watch {
 public:
  Watch(EpollRuntime& runtime, const WatchOptions& options, lead::WatchdogSettings settings, Duration interval)
      : runtime_(runtime), options_(options), interval_(interval), watchdog_(settings, runtime.prng().next()) {}

  task<int> run(runtime::Signals* signals) {
    if (options_.restart) watchdog_.force();
    runtime::Scope helpers;
    helpers.spawn(obey(signals, helpers.cancellation()));
    while (!stop_) {
      co_await check();
      if (stop_) break;
      runtime::Cancellation nap;
      nap_ = &nap;
      const Instant due = std::min(runtime_.now() + interval_, watchdog_.due());
      co_await runtime_.sleep_until(due, &nap);
      nap_ = nullptr;
    }
    co_await end_child();
    helpers.cancel();
    co_await helpers.join();
    co_return kExitOk;
  }

 private:
  // SIGHUP asks for a restart, the others for the end.
  task<void> obey(runtime::Signals* signals, runtime::Cancellation* cancel) {
    while (true) {
      const int number = co_await signals->next(cancel);
      if (number == 0) co_return;
      if (number == SIGHUP) {
        watchdog_.force();
      } else {
        stop_ = true;
      }
      if (nap_ != nullptr) nap_->cancel();
    }
  }

  task<void> check() {
    const WatchdogSight sight = co_await look();
    const WatchdogAct act = watchdog_.check(runtime_.now(), sight);
    if (act.kind == WatchdogAct::Kind::kNone) {
      co_await write_state();
      co_return;
    }
    cause_ = act.why;
    if (act.kind == WatchdogAct::Kind::kRestart) {
      say(runtime_, "restarting: " + act.why);
      co_await end_child();
      if (stop_) co_return;
    } else {
      say(runtime_, "starting: " + act.why);
    }
    co_await start_child();
    watchdog_.started(runtime_.now());
    const std::size_t often = watchdog_.restarts_last_hour(runtime_.now());
    if (watchdog_.restarts_too_often(runtime_.now())) {
      say(runtime_, fmt::format("warning: {} within the last hour: restarts do not keep the process alive",
                                format_count(often, "restart")));
    }
    co_await write_state();
  }

  task<WatchdogSight> look() {
    WatchdogSight sight;
    if (child_) {
      const auto end = co_await child_->wait(runtime_.now(), nullptr);
      sight.runs = !end;
      if (end) {
        sight.succeeded = end->succeeded();
        ended_ = describe(*end);
        succeeded_ = sight.succeeded;
        child_.reset();
      }
    } else {
      sight.succeeded = succeeded_;
    }
    sight.ended = ended_;
    sight.heartbeat = co_await heartbeat();
    co_return sight;
  }

  task<std::optional<std::string>> heartbeat() {
    if (!options_.via.empty()) {
      const auto seen = co_await look_at_lease(runtime_, options_.via, options_.key, kStoreTimeout);
      if (seen) co_return seen->version;
      tell_trouble(seen.error().message);
      co_return std::nullopt;
    }
    lead::RegistryFile registry(runtime_, options_.registry, {});
    const auto agents = co_await registry.read();
    if (!agents) {
      tell_trouble(agents.error().message);
      co_return std::nullopt;
    }
    for (const lead::Agent& agent : agents->agents()) {
      if (agent.id == options_.id) co_return std::to_string(agent.last_heartbeat.unix_ns);
    }
    co_return std::string("not registered");
  }

  void tell_trouble(const std::string& text) {
    if (text != trouble_) say(runtime_, "warning: the heartbeat cannot be seen: " + text);
    trouble_ = text;
  }

  task<void> start_child() {
    const runtime::SpawnOptions spawn{.argv = options_.command, .group = runtime::SpawnOptions::Group::kOwnGroup};
    auto started = co_await runtime_.spawn(spawn);
    if (started) {
      child_ = std::move(*started);
      co_return;
    }
    ended_ = started.error().message;
    succeeded_ = false;
    say(runtime_, "the process cannot be started: " + ended_);
  }

  // With its whole group: first SIGTERM, then SIGKILL.
  task<void> end_child() {
    if (!child_) co_return;
    child_->signal_group(SIGTERM);
    child_->signal_group(SIGCONT);  // one that was stopped could not obey
    auto end = co_await child_->wait(runtime_.now() + options_.grace, nullptr);
    child_->signal_group(SIGKILL);
    if (!end) end = co_await child_->wait(Instant::never(), nullptr);
    ended_ = end ? describe(*end) : end.error().message;
    succeeded_ = false;
    child_.reset();
  }

  task<void> write_state() {
    if (options_.state.empty()) co_return;
    const runtime::ProcessIdentity self = runtime_.self();
    const Value state =
        object_of({told("format", "bellwether.watch/1"), told("pid", self.pid), told("start_time", self.start_time),
                   told("child", child_ ? Value(child_->pid()) : Value()), told("restarts", watchdog_.restarts()),
                   told("restarts_last_hour", watchdog_.restarts_last_hour(runtime_.now())), told("last_cause", cause_),
                   told("checked_at", format_wall(runtime_.wall_now()))});
    Status written = co_await store::write_beside(runtime_, options_.state, state.document(), 0644);
    if (written) written = co_await store::put_in_place(runtime_, options_.state);
    if (!written) say(runtime_, "warning: " + written.error().message);
  }

  EpollRuntime& runtime_;
  const WatchOptions& options_;
  Duration interval_;
  Watchdog watchdog_;
  std::unique_ptr<Child> child_;
  std::string ended_ = "it was not started";
  bool succeeded_ = false;
  bool stop_ = false;
  std::string cause_;
  std::string trouble_;
  runtime::Cancellation* nap_ = nullptr;
};

// Orders the watchdog of this state file to restart; false when none lives.
task<bool> ask_running_watchdog(EpollRuntime& runtime, std::string path) {
  const auto text = co_await store::read_text(runtime, std::move(path));
  if (!text || !text->present) co_return false;
  const json state = json::parse(text->text, nullptr, false);
  if (!state.is_object() || !state.contains("pid") || !state["pid"].is_number_integer()) co_return false;
  const int64_t pid = state["pid"].get<int64_t>();
  const auto seen = runtime.look_at_process(pid);
  const bool same = seen.start_time && state.contains("start_time") && state["start_time"] == *seen.start_time;
  if (pid <= 1 || !same || seen.state != runtime::ProcessSight::State::kAlive) co_return false;
  co_return ::kill(static_cast<pid_t>(pid), SIGHUP) == 0;
}

int run_watch(const WatchOptions& options) {
  const auto profile = profile_named(options.profile);
  if (!profile) return refuse("watch", profile.error().message);
  const lead::WatchdogSettings settings{.stale_after = options.stale_after.value_or(profile->stale_after)};
  const Duration interval = options.interval.value_or(profile->watchdog);
  if (interval <= Duration::zero() || settings.stale_after <= Duration::zero()) {
    return refuse("watch", "--interval and --stale-after must be longer than 0");
  }
  auto runtime = EpollRuntime::create({});
  if (!runtime) return refuse("watch", runtime.error().message, kExitNo);
  if (options.restart && !options.state.empty() && (*runtime)->run(ask_running_watchdog(**runtime, options.state))) {
    say(**runtime, "asked the running watchdog for a restart");
    return kExitOk;
  }
  if (options.command.empty()) {
    return refuse(
        "watch",
        "the command to keep running is missing; write it after '--': bellwether watch … -- COMMAND ARGUMENTS");
  }
  if (options.via.empty() == options.registry.empty()) {
    return refuse("watch", "where does the heartbeat show? Give either --via URL --key K or --registry PATH --id NAME");
  }
  auto signals = runtime::Signals::collect(**runtime, {SIGHUP, SIGINT, SIGTERM});
  if (!signals) return refuse("watch", signals.error().message, kExitNo);
  Watch watch(**runtime, options, settings, interval);
  return (*runtime)->run(watch.run(signals->get()));
}

}  // namespace

void add_watch(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App* command = new_verb(app, "watch");
  CLI::Option* via = add_text(command, "--via", options->via, "URL", "Use a lease in this store as the heartbeat");
  CLI::Option* key = add_text(command, "-k,--key", options->key, "KEY", "Key of the lease");
  CLI::Option* registry =
      add_text(command, "--registry", options->registry, "PATH", "Use this registry of agents for the heartbeat");
  CLI::Option* id = add_text(command, "--id", options->id, "NAME", "Name of the agent in the registry");
  via->needs(key)->excludes(registry);
  key->needs(via);
  registry->needs(id);
  id->needs(registry);
  add_text(command, "--profile", options->profile, "NAME",
           "Profile for the times: production, high-availability or lenient");
  add_duration(command, "--interval", options->interval, "Interval of checks (default by profile: 60s)");
  add_duration(command, "--stale-after", options->stale_after,
               "A live process is frozen after this time without a heartbeat (default by profile: 120s)");
  add_duration(command, "--grace", options->grace, "Time from SIGTERM to SIGKILL (default 10s)");
  add_text(command, "--state", options->state, "PATH", "State file, for --restart and `bellwether doctor`");
  command->add_flag("--restart", options->restart,
                    "Restart now: ask the watchdog of --state, or start one that begins with a restart");
  command->add_option("COMMAND", options->command, "Command of the leader's process, after --");
  command->footer(
      "SIGHUP restarts the process. SIGTERM and SIGINT end the watchdog and the process. A process that ends with 0 "
      "while the heartbeat of another one continues is not restarted.\n"
      "\n"
      "Exit codes: 0 ended by a signal, 1 no runtime, 104 wrong command line.");
  command->callback([options, &exit_code] { exit_code = run_watch(*options); });
}

}  // namespace bellwether::cli
