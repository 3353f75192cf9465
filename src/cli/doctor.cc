// bellwether doctor: is leadership healthy, and what to do where it is not.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/epoch_history.h"
#include "cli/seen_lease.h"
#include "cli/sources.h"
#include "cli/table.h"
#include "lead/agents/fleet_files.h"
#include "lead/agents/health.h"
#include "lead/agents/profile.h"
#include "runtime/epoll_runtime.h"
#include "store/disk/small_file.h"

namespace bellwether::cli {
namespace {

using lead::Finding;
using lead::Findings;
using lead::Severity;
using nlohmann::json;
using runtime::EpollRuntime;
using runtime::task;

struct DoctorOptions {
  std::string policy;
  std::string via;
  std::string key;
  std::string registry;
  std::string watch_state;
  std::string history;
  std::string profile = "production";
  Duration watch_for = Duration::seconds(1);
  Duration timeout = Duration::seconds(5);
  Duration store_p99 = Duration::millis(50);
  bool offline = false;
  bool json = false;
};

class Doctor {
 public:
  Doctor(EpollRuntime& runtime, const DoctorOptions& options, lead::AgentAges ages)
      : runtime_(runtime), options_(options), ages_(ages) {}

  task<void> examine(const lead::Policy* policy) {
    if (policy != nullptr) co_await examine_policy(*policy);
    if (policy == nullptr && !options_.via.empty()) co_await examine_key(options_.via, options_.key, true);
    if (!options_.registry.empty()) co_await examine_registry();
    if (!options_.watch_state.empty()) co_await examine_watchdog();
  }

  const Findings& findings() const { return findings_; }
  std::size_t keys() const { return keys_; }

 private:
  task<void> examine_policy(const lead::Policy& policy) {
    for (const lead::LoopPolicy& loop : policy.loops) {
      judge_budget(policy, loop, budget_of_loop(loop, options_.store_p99, options_.via), findings_);
      const std::string& url = loop.store.empty() ? options_.via : loop.store;
      if (url.empty() || options_.offline) continue;
      co_await examine_key(url, loop.lock_key, loop.release_mode == lead::ReleaseMode::kTtlHold);
    }
  }

  // Looks for a while: what contradicts itself shows only in several looks.
  task<void> examine_key(std::string url, std::string key, bool holder_expected) {
    if (unreachable_.contains(url)) co_return;
    lead::LeaseLooks looks{.via = url, .key = key, .seen = {}, .holder_expected = holder_expected};
    const Instant end = runtime_.read_clock() + options_.watch_for;
    do {
      auto seen = co_await look_at_lease(runtime_, url, key, options_.timeout);
      if (!seen) {
        unreachable_.insert(url);
        findings_.push_back({Severity::kCritical, "the store cannot be asked: " + url, seen.error().message,
                             "no candidate can win or renew: holders stop when their terms end",
                             "bellwether lease list --via " + url});
        co_return;
      }
      looks.seen.push_back(std::move(*seen));
      co_await runtime_.sleep(Duration::millis(200));
    } while (runtime_.now() < end);
    ++keys_;
    judge_lease(looks, runtime_.wall_now(), {}, findings_);
    co_await examine_churn(url, key, looks.seen.back().record.epoch);
  }

  task<void> examine_churn(std::string url, std::string key, election::Epoch epoch) {
    if (options_.history.empty()) co_return;
    EpochHistory history(runtime_, options_.history);
    const auto grown = co_await history.note(url + " " + key, epoch);
    if (!grown) {
      findings_.push_back({Severity::kWarning, "the history of epochs cannot be kept", grown.error().message,
                           "changes of leader are not counted", "remove " + options_.history + ", or give another"});
      co_return;
    }
    judge_churn(key, *grown, {}, findings_);
  }

  task<void> examine_registry() {
    const auto broken = co_await runtime_.open(options_.registry + ".broken", {});
    if (broken) {
      findings_.push_back({Severity::kWarning, "a corrupt registry was set aside", options_.registry + ".broken",
                           "a program that is not ours writes it, or the disk loses data",
                           "look at it, then remove it"});
    }
    lead::RegistryFile registry(runtime_, options_.registry, ages_);
    const auto agents = co_await registry.read();
    if (!agents) {
      findings_.push_back({Severity::kCritical, "the registry cannot be read", agents.error().message,
                           "nobody knows which agents live; the next change sets a corrupt file aside, and agents "
                           "register again",
                           "bellwether agents list --registry " + options_.registry});
      co_return;
    }
    judge_registry(options_.registry, *agents, ages_, runtime_.wall_now(), findings_);
  }

  task<void> examine_watchdog() {
    const auto text = co_await store::read_text(runtime_, options_.watch_state);
    const json state = text && text->present ? json::parse(text->text, nullptr, false) : json();
    if (!state.is_object() || !state.value("restarts_last_hour", json()).is_number_unsigned()) {
      findings_.push_back({Severity::kWarning, "there is no watchdog", options_.watch_state + " is missing or torn",
                           "a leader's process that dies or freezes stays so",
                           "bellwether watch --state " + options_.watch_state + " --via URL --key K -- COMMAND"});
      co_return;
    }
    const json cause = state.value("last_cause", json());
    judge_watchdog(options_.watch_state, state["restarts_last_hour"].get<std::size_t>(),
                   cause.is_string() ? cause.get<std::string>() : "", {}, findings_);
  }

  EpollRuntime& runtime_;
  const DoctorOptions& options_;
  lead::AgentAges ages_;
  Findings findings_;
  std::set<std::string> unreachable_;
  std::size_t keys_ = 0;
};

int exit_code_of(const Findings& findings) { return static_cast<int>(worst_of(findings)); }

void print(const Doctor& doctor) {
  for (const Finding& finding : doctor.findings()) {
    std::printf("%s: %s\n  evidence: %s\n  why it matters: %s\n  do: %s\n",
                std::string(to_string(finding.severity)).c_str(), printable(finding.what).c_str(),
                printable(finding.evidence).c_str(), finding.why.c_str(), printable(finding.command).c_str());
  }
  if (worst_of(doctor.findings()) == Severity::kNote) {
    std::printf("healthy (%s looked at)\n", format_count(doctor.keys(), "key").c_str());
  }
}

void print_json(const Findings& findings) {
  json out{{"format", "bellwether.doctor/1"},
           {"health", exit_code_of(findings) == 0 ? "healthy" : to_string(worst_of(findings))},
           {"findings", json::array()}};
  for (const Finding& finding : findings) {
    out["findings"].push_back({{"severity", to_string(finding.severity)},
                               {"what", finding.what},
                               {"evidence", finding.evidence},
                               {"why", finding.why},
                               {"command", finding.command}});
  }
  std::printf("%s\n", out.dump(2, ' ', false, json::error_handler_t::replace).c_str());
}

int refuse(const std::string& why) {
  std::fprintf(stderr, "bellwether doctor: %s\n", why.c_str());
  return kExitUsage;
}

int run_doctor(const DoctorOptions& options) {
  const auto profile = lead::find_profile(options.profile);
  if (!profile) return refuse("there is no profile '" + options.profile + "'");
  if (options.policy.empty() && options.via.empty() && options.registry.empty() && options.watch_state.empty()) {
    return refuse("what shall it look at? Give --policy FILE, --via URL --key K, --registry PATH or --watch PATH");
  }
  if (options.policy.empty() && options.via.empty() != options.key.empty()) return refuse("--via needs --key");
  std::optional<lead::Policy> policy;
  if (!options.policy.empty()) {
    std::vector<yaml::Diagnostic> warnings;
    auto loaded = load_policy(options.policy, warnings);
    if (!loaded) return refuse(loaded.error().message);
    policy = std::move(*loaded);
  }
  auto runtime = EpollRuntime::create({});
  if (!runtime) return refuse(runtime.error().message);
  Doctor doctor(**runtime, options, {.stale_after = profile->stale_after, .dead_after = profile->dead_after});
  (*runtime)->run(doctor.examine(policy ? &*policy : nullptr));
  if (options.json) {
    print_json(doctor.findings());
  } else {
    print(doctor);
  }
  return exit_code_of(doctor.findings());
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand("doctor", "Is leadership healthy? What to do where it is not");
  command->add_option("--policy", options->policy, "All loops of this policy sheet")->type_name("FILE");
  command->add_option("--via", options->via, "A store; with --policy, where the sheet names none")->type_name("URL");
  command->add_option("-k,--key", options->key, "A key of that store");
  command->add_option("--registry", options->registry, "A registry of agents")->type_name("PATH");
  command->add_option("--watch", options->watch_state, "The state file of a watchdog (bellwether watch --state)")
      ->type_name("PATH");
  command->add_option("--history", options->history, "Keep epochs in this file from run to run, to count changes")
      ->type_name("PATH");
  command->add_option("--profile", options->profile, "production, high-availability or lenient: ages of agents");
  add_duration(command, "--for", options->watch_for, "Look at each key for so long (default 1s)");
  add_duration(command, "--timeout", options->timeout, "Wait so long for a store (default 5s)");
  add_duration(command, "--store-p99", options->store_p99, "As for `bellwether budget` (default 50ms)");
  command->add_flag("--offline", options->offline, "Ask no store: judge only what the sheet says");
  command->add_flag("--json", options->json, "One JSON document");
  command->footer(
      "Examples:\n"
      "  bellwether doctor --policy examples/leadership/policy.yaml\n"
      "  bellwether doctor --via file:lease.json --key default --registry fleet.json --history epochs.json\n\n"
      "Exit codes: 0 healthy, 1 warnings, 2 critical, 104 wrong sheet or command line.");
  command->callback([options, &exit_code] { exit_code = run_doctor(*options); });
}

}  // namespace bellwether::cli
