// bellwether agents: the agents of a fleet, and who leads it.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>

#include "cli/agents_parts.h"
#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/seen_lease.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "core/base/units.h"
#include "core/base/wall_text.h"
#include "core/runtime/epoll_runtime.h"
#include "lead/agents/fleet_files.h"
#include "lead/agents/profile.h"

namespace bellwether::cli {
namespace {

using lead::Agent;
using lead::AgentRegistry;
using lead::RegistryFile;
using nlohmann::json;
using runtime::EpollRuntime;
using runtime::task;

struct AgentsOptions {
  FleetPlaces places;
  std::string profile = "production";
  std::optional<Duration> stale_after;
  std::optional<Duration> dead_after;
  std::string id;
  std::string role = "worker";
  int64_t pid = 0;
  uint64_t epoch = 0;
  bool clean = false;
  bool json = false;
};

std::string json_text(const json& document) {
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string age_text(Duration age) {
  return age < Duration::zero() ? "in the future" : format_duration(Duration::millis(age.ms()));
}

// Those that could lead next: the heir, or the living agents of the leader's role.
std::vector<std::string> who_is_next(const AgentRegistry& registry, const election::LeaseRecord& lease, WallTime now,
                                     const lead::AgentAges& ages) {
  if (!lease.heir.empty()) return {lease.heir};
  std::string role = "orchestrator";
  for (const Agent& agent : registry.agents()) {
    if (agent.id == lease.holder) role = agent.role;
  }
  std::vector<std::string> next;
  for (const Agent& agent : registry.agents()) {
    const bool lives = status_of(agent, now, ages) == lead::AgentStatus::kActive;
    if (lives && agent.role == role && agent.id != lease.holder) next.push_back(agent.id);
  }
  return next;
}

std::string names_or_nobody(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "nobody" : out;
}

void print_leader(const election::Observation& seen, const std::vector<std::string>& next, WallTime now) {
  const election::LeaseRecord& lease = seen.record;
  const Duration left = left_of(seen, now);
  Table table({"LEADER", lease.held() ? lease.holder : "nobody"});
  table.add({"epoch", std::to_string(lease.epoch.value())});
  if (lease.held()) {
    table.add({"since", format_wall(lease.acquired_at) + " (" + age_text(between(lease.acquired_at, now)) + ")"});
    table.add({"valid for", left > Duration::zero() ? std::to_string(left.ms()) + " ms more, unless renewed"
                                                    : "over since " + format_duration(-left)});
  }
  table.add({"next", names_or_nobody(next)});
  table.add({"last change", lease.cause.empty() ? "-" : lease.cause});
  if (!seen.evidence.empty()) table.add({"evidence", seen.evidence});
  std::printf("%s\n", table.text().c_str());
}

json leader_json(const election::Observation& seen, const std::vector<std::string>& next, WallTime now) {
  const election::LeaseRecord& lease = seen.record;
  json out{{"leader", lease.held() ? json(lease.holder) : json(nullptr)},
           {"epoch", lease.epoch.value()},
           {"next", next},
           {"last_change", lease.cause}};
  if (lease.held()) {
    out["since"] = format_wall(lease.acquired_at);
    out["valid_for_ms"] = left_of(seen, now).ms();
  }
  return out;
}

json agent_json(const Agent& agent, const lead::AgentAges& ages, WallTime now) {
  return {{"id", agent.id},
          {"role", agent.role},
          {"status", to_string(status_of(agent, now, ages))},
          {"host", agent.host},
          {"pid", agent.pid},
          {"registered_at", format_wall(agent.registered_at)},
          {"last_heartbeat", format_wall(agent.last_heartbeat)},
          {"age_ms", between(agent.last_heartbeat, now).ms()},
          {"clock_ahead", is_from_future(agent, now)}};
}

task<int> list_agents(EpollRuntime& runtime, RegistryFile& registry, const AgentsOptions& options) {
  const auto agents = co_await registry.read();
  if (!agents) co_return refuse("agents", agents.error().message, kExitNo);
  std::optional<election::Observation> lease;
  if (!options.places.via.empty()) {
    auto seen = co_await look_at_lease(runtime, options.places.via, options.places.key, Duration::seconds(5));
    if (!seen) co_return refuse("agents", seen.error().message, kExitNo);
    lease = std::move(*seen);
  }
  const WallTime now = runtime.wall_now();
  const auto next = lease ? who_is_next(*agents, lease->record, now, registry.ages()) : std::vector<std::string>();
  if (options.json) {
    json out{{"format", "bellwether.agents-list/1"}, {"agents", json::array()}, {"lease", nullptr}};
    if (lease) out["lease"] = leader_json(*lease, next, now);
    for (const Agent& agent : agents->agents()) out["agents"].push_back(agent_json(agent, registry.ages(), now));
    std::fputs(json_text(out).c_str(), stdout);
    co_return kExitOk;
  }
  if (lease) print_leader(*lease, next, now);
  Table table({"AGENT", "ROLE", "STATUS", "HEARTBEAT", "HOST", "PID"});
  for (const Agent& agent : agents->agents()) {
    const bool leads = lease && lease->record.holder == agent.id;
    table.add({agent.id + (leads ? " *" : ""), agent.role,
               std::string(to_string(status_of(agent, now, registry.ages()))),
               age_text(between(agent.last_heartbeat, now)), agent.host, std::to_string(agent.pid)});
  }
  std::fputs(table.text().c_str(), stdout);
  co_return kExitOk;
}

// The leader's cleanup, and the tasks of those that it found silent given to others.
task<int> clean_up(EpollRuntime& runtime, RegistryFile& registry, const AgentsOptions& options) {
  if (!options.places.via.empty()) {
    const auto seen = co_await look_at_lease(runtime, options.places.via, options.places.key, Duration::seconds(5));
    if (!seen) co_return refuse("agents", seen.error().message, kExitNo);
    if (seen->record.holder != options.id) {
      co_return refuse("agents", "'" + options.id + "' does not lead: only the leader cleans up", kExitNo);
    }
  }
  const auto done = co_await registry.clean(options.id);
  if (!done) co_return refuse("agents", done.error().message, kExitNo);
  std::size_t handed_back = 0;
  if (!options.places.queue.empty() && options.epoch > 0) {
    const auto left = co_await registry.read();
    if (!left) co_return refuse("agents", left.error().message, kExitNo);
    std::vector<std::string> living{options.id};
    for (const Agent& agent : left->agents()) {
      if (agent.status == lead::AgentStatus::kActive) living.push_back(agent.id);
    }
    lead::QueueFile queue(runtime, options.places.queue);
    const auto back = co_await queue.hand_back(living, election::Epoch(options.epoch));
    if (!back) co_return refuse("agents", back.error().message, kExitNo);
    handed_back = *back;
  }
  if (options.json) {
    const json out{{"stale", done->stale}, {"reaped", done->reaped}, {"handed_back", handed_back}};
    std::fputs(json_text(out).c_str(), stdout);
  } else if (done->changed() || handed_back > 0) {
    std::printf("stale: %s; forgotten: %s; %s handed back\n", names_or_nobody(done->stale).c_str(),
                names_or_nobody(done->reaped).c_str(), format_count(handed_back, "task").c_str());
  }
  co_return kExitOk;
}

task<int> heartbeat(EpollRuntime& runtime, RegistryFile& registry, const AgentsOptions& options) {
  const Status done = co_await registry.heartbeat(options.id);
  if (!done) co_return refuse("agents", done.error().message, kExitNo);
  if (!options.clean) co_return kExitOk;
  const int code = co_await clean_up(runtime, registry, options);
  co_return code;
}

task<int> run_act(EpollRuntime& runtime, std::string act, const AgentsOptions& options, lead::AgentAges ages) {
  RegistryFile registry(runtime, options.places.registry, ages);
  int code = kExitOk;
  if (act == "list") {
    code = co_await list_agents(runtime, registry, options);
  } else if (act == "heartbeat") {
    code = co_await heartbeat(runtime, registry, options);
  } else {
    Status done;
    if (act == "register") {
      done = co_await registry.add(options.id, options.role, runtime.self().host, options.pid);
    } else {
      done = co_await registry.remove(options.id);
    }
    if (!done)
      code = refuse("agents", done.error().message, done.error().code == Errc::kInvalid ? kExitUsage : kExitNo);
  }
  if (registry.quarantined()) {
    std::fprintf(stderr,
                 "bellwether agents: warning: '%s' was torn or foreign and is set aside beside it, as "
                 ".quarantine-TIME; agents register again\n",
                 options.places.registry.c_str());
  }
  co_return code;
}

int run_agents(const std::string& act, AgentsOptions& options) {
  options.places.complete();
  if (options.places.registry.empty()) return refuse("agents", "where is the fleet? Give --dir DIR or --registry PATH");
  const auto profile = lead::find_profile(options.profile);
  if (!profile) return refuse("agents", "there is no profile '" + options.profile + "'");
  const lead::AgentAges ages{.stale_after = options.stale_after.value_or(profile->stale_after),
                             .dead_after = options.dead_after.value_or(profile->dead_after)};
  if (ages.stale_after <= Duration::zero() || ages.dead_after <= ages.stale_after) {
    return refuse("agents", "--dead-after " + format_duration(ages.dead_after) + " must be longer than --stale-after " +
                                format_duration(ages.stale_after) + ", and that longer than 0");
  }
  if (options.pid == 0) options.pid = ::getppid();
  act_as_owner_of(options.places.registry);
  auto runtime = EpollRuntime::create({});
  if (!runtime) return refuse("agents", runtime.error().message, kExitNo);
  return (*runtime)->run(run_act(**runtime, act, options, ages));
}

CLI::App* add_act(CLI::App* agents, const char* act, const char* help, const std::shared_ptr<AgentsOptions>& options,
                  int& exit_code) {
  CLI::App* command = new_verb(*agents, act, help);
  add_fleet_folder(command, options->places);
  command->add_option("--registry", options->places.registry, "... or the registry of agents alone")->type_name("PATH");
  command->add_option("--profile", options->profile, "production, high-availability or lenient: sets the ages");
  add_duration(command, "--stale-after", options->stale_after, "An agent silent for so long is stale");
  add_duration(command, "--dead-after", options->dead_after, "... dead, and forgotten by the leader's next cleanup");
  command->callback([options, &exit_code, act] { exit_code = run_agents(act, *options); });
  return command;
}

void add_lease(CLI::App* command, AgentsOptions& options) {
  CLI::Option* via =
      command->add_option("--via", options.places.via, "Where the leader's lease is kept")->type_name("URL");
  CLI::Option* key = command->add_option("-k,--key", options.places.key, "The key of the lease");
  via->needs(key);
  key->needs(via);
  command->add_flag("--json", options.json, "One JSON document");
}

}  // namespace

void add_agents(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AgentsOptions>();
  CLI::App* agents = new_verb(app, "agents", "The agents of a fleet, and who leads it");
  agents->require_subcommand(1);
  add_agents_lead(agents, exit_code);
  add_agents_tasks(agents, exit_code);
  add_lease(add_act(agents, "list", "Who there is, who leads, who is next", options, exit_code), *options);
  CLI::App* joins = add_act(agents, "register", "Adds an agent, or renews what is known of it", options, exit_code);
  joins->add_option("--id", options->id, "The agent's name, unique in the fleet")->required();
  joins->add_option("--role", options->role, "What it does (default worker)");
  joins->add_option("--pid", options->pid, "Its process (default: the one that runs this command)");
  CLI::App* beats = add_act(agents, "heartbeat", "Says that an agent lives", options, exit_code);
  beats->add_option("--id", options->id, "The agent's name")->required();
  CLI::Option* clean = beats->add_flag("--clean", options->clean, "It leads: mark the silent, forget the dead");
  CLI::Option* epoch = beats->add_option("--epoch", options->epoch, "The leader's epoch")->needs(clean);
  beats->add_option("--queue", options->places.queue, "Hand the tasks of the silent back in this file")
      ->type_name("PATH")
      ->needs(epoch);
  add_lease(beats, *options);
  CLI::App* leaves = add_act(agents, "deregister", "Takes an agent out", options, exit_code);
  leaves->add_option("--id", options->id, "The agent's name")->required();
  agents->footer(
      "Examples:\n"
      "  bellwether agents lead --dir fleet --id a1 -- ./do-task.sh\n"
      "  bellwether agents tasks add --dir fleet nightly --payload '{\"day\": 1}'\n"
      "  bellwether agents list --dir fleet\n"
      "  bellwether agents register --registry fleet.json --id w1 --role worker\n"
      "  bellwether agents list --registry fleet.json --via file:lease.json --key default\n\n"
      "Exit codes: 0 done, 1 not done (no such agent, not the leader, a file or store that fails), 104 wrong command\n"
      "line.");
}

}  // namespace bellwether::cli
