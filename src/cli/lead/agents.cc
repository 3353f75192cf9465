// bellwether agents: the agents of a fleet, and their leader.
#include "cli/lead/agents.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <grp.h>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/lead/lease.h"
#include "cli/verb.h"
#include "cli/view.h"
#include "core/base/check.h"
#include "core/base/units.h"
#include "lead/agents/fleet_files.h"
#include "lead/agents/fleet_leader.h"
#include "lead/lease_tools.h"

namespace bellwether::cli {

namespace {

using lead::Agent;
using lead::AgentRegistry;
using lead::between;
using lead::left_of;
using lead::RegistryFile;
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

std::string age_text(Duration age) {
  return age < Duration::zero() ? "in the future" : format_duration(Duration::millis(age.ms()));
}

// The worse of its silence at `now` and of the leader's mark, which a heartbeat takes back.
lead::AgentStatus status_at(const Agent& agent, WallTime now, const lead::AgentAges& ages) {
  return std::max(agent.status, status_of(agent, now, ages));
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
    const bool lives = status_at(agent, now, ages) == lead::AgentStatus::kActive;
    if (lives && agent.role == role && agent.id != lease.holder) next.push_back(agent.id);
  }
  return next;
}

// The leader, for people in two columns.
Fields fields_of(const election::Observation& seen, const std::vector<std::string>& next, WallTime now) {
  const election::LeaseRecord& lease = seen.record;
  const Duration left = left_of(seen, now);
  Fields out{{"LEADER", "leader", lease.held() ? Value(lease.holder) : Value(), lease.held() ? lease.holder : "nobody"},
             {"epoch", "epoch", lease.epoch.value()}};
  if (lease.held()) {
    const std::string since = format_wall(lease.acquired_at);
    out.emplace_back("since", "since", since, fmt::format("{} ({})", since, age_text(between(lease.acquired_at, now))));
    out.emplace_back("valid for", "valid_for_ms", left.ms(),
                     left > Duration::zero() ? age_text(left) + ", unless renewed" : "over since " + age_text(-left));
  }
  out.emplace_back("next", "next", next, joined(next, "nobody"));
  out.emplace_back("last change", "last_change", lease.cause, lease.cause.empty() ? "-" : lease.cause);
  out.push_back(shown("evidence", seen.evidence));
  return out;
}

Fields fields_of(const Agent& agent, const lead::AgentAges& ages, bool leads, WallTime now) {
  const Duration age = between(agent.last_heartbeat, now);
  const std::string status(to_string(status_at(agent, now, ages)));
  const std::string mark(to_string(agent.status));
  return {{"AGENT", "id", agent.id, agent.id + (leads ? " *" : "")},
          {"ROLE", "role", agent.role},
          {"STATUS", "status", status, status == mark ? status : fmt::format("{} (marked {})", status, mark)},
          {"HEARTBEAT", "age_ms", age.ms(), age_text(age)},
          {"HOST", "host", agent.host},
          {"PID", "pid", agent.pid},
          told("marked", mark),
          told("registered_at", format_wall(agent.registered_at)),
          told("last_heartbeat", format_wall(agent.last_heartbeat)),
          told("clock_ahead", is_from_future(agent, now))};
}

task<Result<int>> list_agents(EpollRuntime& runtime, RegistryFile& registry, const AgentsOptions& options) {
  BW_CO_TRY(const auto agents, co_await registry.read());
  std::optional<election::Observation> lease;
  if (!options.places.via.empty()) {
    BW_CO_TRY(auto seen, co_await look_at_lease(runtime, options.places.via, options.places.key, Duration::seconds(5)));
    lease = std::move(seen);
  }
  const WallTime now = runtime.wall_now();
  const auto next = lease ? who_is_next(agents, lease->record, now, registry.ages()) : std::vector<std::string>();
  const Fields leader = lease ? fields_of(*lease, next, now) : Fields();
  const Rows view(agents.agents(), [&](const Agent& one) {
    return fields_of(one, registry.ages(), lease && lease->record.holder == one.id, now);
  });
  if (options.json) {
    print_json({told("format", "bellwether.agents-list/1"), told("agents", view.list()),
                told("lease", lease ? object_of(leader) : Value())});
  } else {
    print((lease ? lines_of(leader, 13) + "\n" : "") + view.table());
  }
  co_return kExitOk;
}

// The leader's cleanup: gives the tasks of silent agents to others.
task<Result<int>> clean_up(EpollRuntime& runtime, RegistryFile& registry, const AgentsOptions& options) {
  if (!options.places.via.empty()) {
    BW_CO_TRY(const auto seen,
              co_await look_at_lease(runtime, options.places.via, options.places.key, Duration::seconds(5)));
    if (seen.record.holder != options.id) {
      co_return refuse("agents", fmt::format("'{}' does not lead: only the leader cleans up", options.id), kExitNo);
    }
  }
  BW_CO_TRY(const auto done, co_await registry.clean(options.id));
  std::size_t handed_back = 0;
  if (!options.places.queue.empty() && options.epoch > 0) {
    BW_CO_TRY(const auto left, co_await registry.read());
    std::vector<std::string> living{options.id};
    for (const Agent& agent : left.agents()) {
      if (agent.status == lead::AgentStatus::kActive) living.push_back(agent.id);
    }
    lead::QueueFile queue(runtime, options.places.queue);
    BW_CO_TRY(const auto back, co_await queue.hand_back(living, election::Epoch(options.epoch)));
    handed_back = back;
  }
  if (options.json) {
    print_json({told("stale", done.stale), told("reaped", done.reaped), told("handed_back", handed_back)});
  } else if (done.changed() || handed_back > 0) {
    std::printf("stale: %s; forgotten: %s; %s handed back\n", joined(done.stale, "nobody").c_str(),
                joined(done.reaped, "nobody").c_str(), format_count(handed_back, "task").c_str());
  }
  co_return kExitOk;
}

task<Result<int>> heartbeat(EpollRuntime& runtime, RegistryFile& registry, const AgentsOptions& options) {
  BW_CO_RETURN_IF_ERROR(co_await registry.heartbeat(options.id));
  if (!options.clean) co_return kExitOk;
  auto cleaned = co_await clean_up(runtime, registry, options);
  co_return cleaned;
}

task<int> run_act(EpollRuntime& runtime, std::string act, const AgentsOptions& options, lead::AgentAges ages) {
  RegistryFile registry(runtime, options.places.registry, ages);
  Result<int> done = kExitOk;
  if (act == "list") {
    done = co_await list_agents(runtime, registry, options);
  } else if (act == "heartbeat") {
    done = co_await heartbeat(runtime, registry, options);
  } else {
    Status changed;
    if (act == "register") {
      changed = co_await registry.add(options.id, options.role, runtime.self().host, options.pid);
    } else {
      changed = co_await registry.remove(options.id);
    }
    if (!changed) done = tl::unexpected(changed.error());
  }
  const bool of_command_line = !done && act.ends_with("register") && done.error().code == Errc::kInvalid;
  const int code = answer("agents", done, of_command_line ? kExitUsage : kExitNo);
  if (registry.quarantined()) {
    refuse(
        "agents",
        fmt::format(
            "warning: '{}' was torn or foreign and is set aside beside it, as .quarantine-TIME; agents register again",
            options.places.registry));
  }
  co_return code;
}

int run_agents(const std::string& act, AgentsOptions& options) {
  options.places.complete();
  if (options.places.registry.empty())
    return refuse("agents", "the fleet is missing: give --dir DIR or --registry PATH");
  const auto profile = profile_named(options.profile);
  if (!profile) return refuse("agents", profile.error().message);
  const lead::AgentAges ages{.stale_after = options.stale_after.value_or(profile->stale_after),
                             .dead_after = options.dead_after.value_or(profile->dead_after)};
  if (ages.stale_after <= Duration::zero() || ages.dead_after <= ages.stale_after) {
    return refuse("agents", fmt::format("--dead-after {} must be longer than --stale-after {}, and that longer than 0",
                                        format_duration(ages.dead_after), format_duration(ages.stale_after)));
  }
  if (options.pid == 0) options.pid = ::getppid();
  act_as_owner_of(options.places.registry);
  return in_runtime(
      "agents", [&](auto& runtime) { return runtime.run(run_act(runtime, act, options, ages)); }, kExitNo);
}

CLI::App* add_act(CLI::App* agents, const char* act, const std::shared_ptr<AgentsOptions>& options, int& exit_code) {
  CLI::App* command = new_verb(*agents, act);
  add_fleet_folder(command, options->places);
  add_text(command, "--registry", options->places.registry, "PATH", "The registry file of agents, without --dir");
  add_text(command, "--profile", options->profile, "NAME",
           "Profile for the ages: production, high-availability or lenient");
  add_duration(command, "--stale-after", options->stale_after, "An agent is stale after this silence");
  add_duration(command, "--dead-after", options->dead_after,
               "An agent is dead after this silence; the leader's next cleanup removes it");
  command->callback([options, &exit_code, act] { exit_code = run_agents(act, *options); });
  return command;
}

void add_lease(CLI::App* command, AgentsOptions& options) {
  CLI::Option* via = add_text(command, "--via", options.places.via, "URL", "The store with the leader's lease");
  CLI::Option* key = add_text(command, "-k,--key", options.places.key, "KEY", "The key of the lease");
  via->needs(key);
  key->needs(via);
  command->add_flag("--json", options.json, "Print one JSON document");
}

struct FleetArguments {
  FleetPlaces places;
  lead::FleetOptions options;
  std::string profile = "production";
  std::optional<Duration> ttl;
  std::optional<Duration> heartbeat;
  std::optional<Duration> stale_after;
  std::optional<Duration> dead_after;
  bool adaptive = false;
  LeaseBounds bounds;
  Telling telling;
};

Duration in_proportion(Duration of_profile, Duration ttl, const lead::AgentProfile& profile) {
  const double ratio = static_cast<double>(of_profile.ns()) / static_cast<double>(profile.lease.ns());
  return Duration::nanos(static_cast<int64_t>(ratio * static_cast<double>(ttl.ns())));
}

// The times of a profile; another lease scales all of them.
Status set_fleet_times(FleetArguments& given) {
  lead::FleetOptions& options = given.options;
  BW_TRY(const lead::AgentProfile profile, profile_named(given.profile));
  const Duration ttl = given.ttl.value_or(profile.lease);
  options.timing = election::LeaseTiming::of(ttl);
  options.timing.renew_every = given.heartbeat.value_or(in_proportion(profile.heartbeat, ttl, profile));
  BW_RETURN_IF_ERROR(options.timing.validate());
  options.heartbeat = options.timing.renew_every;
  options.ages.stale_after = given.stale_after.value_or(in_proportion(profile.stale_after, ttl, profile));
  options.ages.dead_after = given.dead_after.value_or(in_proportion(profile.dead_after, ttl, profile));
  if (options.ages.stale_after <= options.heartbeat || options.ages.dead_after <= options.ages.stale_after) {
    return fail(Errc::kInvalid,
                "--dead-after {} must be longer than --stale-after {}, and that longer than the heartbeat {}: else "
                "agents that live are marked",
                format_duration(options.ages.dead_after), format_duration(options.ages.stale_after),
                format_duration(options.heartbeat));
  }
  return {};
}

Status set_adaptive(FleetArguments& given) {
  if (!given.adaptive) return {};
  lead::FleetOptions& options = given.options;
  options.timing = election::LeaseTiming::of(options.timing.lease);  // with three renewals in it, at any length
  BW_TRY(options.adaptive, settings_within(given.bounds, options.timing.lease, options.timing.lease * 4));
  return {};
}

Result<int> run_fleet_lead(FleetArguments& given) {
  lead::FleetOptions& options = given.options;
  given.places.complete();
  for (const auto& [what, value] : {std::pair{"--registry", &given.places.registry},
                                    {"--queue", &given.places.queue},
                                    {"--via", &given.places.via},
                                    {"--key", &given.places.key}}) {
    if (value->empty()) return fail(Errc::kInvalid, "the fleet is missing: give --dir DIR, or also {}", what);
  }
  options.registry = given.places.registry;
  options.queue = given.places.queue;
  options.via = given.places.via;
  options.key = given.places.key;
  BW_RETURN_IF_ERROR(set_fleet_times(given));
  BW_RETURN_IF_ERROR(set_adaptive(given));
  if (options.poll <= Duration::zero() || options.retry_after < Duration::zero() ||
      options.health_every <= Duration::zero()) {
    return fail(Errc::kInvalid, "--poll and --health-every must be longer than 0, and --retry-after not shorter");
  }
  if (options.command.empty()) {
    return refuse(
        "agents lead",
        "the command for each task is missing; write it after '--': bellwether agents lead --dir DIR -- COMMAND "
        "ARGUMENTS");
  }
  options.verbosity = given.telling.verbosity();
  BW_RETURN_IF_ERROR(given.places.make_folder());
  // A task gets its payload from its environment; input of this terminal is not meant for it.
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  return in_runtime("agents lead", [&](auto& runtime) { return run_fleet_leader(runtime, options); });
}

void add_fleet_options(CLI::App* command, FleetArguments& given) {
  lead::FleetOptions& options = given.options;
  add_fleet_folder(command, given.places);
  add_text(command, "--registry", given.places.registry, "PATH", "The registry file of agents, without --dir");
  add_text(command, "--queue", given.places.queue, "PATH", "The queue file of tasks, without --dir");
  add_text(command, "--via", given.places.via, "URL", "The store with the lease, as for `bellwether lead`");
  add_text(command, "-k,--key", given.places.key, "KEY", "The key of the lease (default default)");
  add_text(command, "--id,--agent", options.id, "NAME", "This agent's name, unique in the fleet (default HOST:PID)");
  options.role = "orchestrator";
  add_text(command, "--role", options.role, "NAME", "Its role in the registry (default orchestrator)");
  add_text(command, "--region", options.region, "NAME",
           "Region of this agent; candidates in the leader's region go first");
  add_duration(command, "--cross-region-wait", options.cross_region_wait,
               "Candidates in other regions wait this much longer");
  command->add_flag("--exit-if-follower", options.exit_if_follower, "End with 0 if there is a healthy leader");
  command->add_flag("--trust-empty", options.trust_empty,
                    "Treat a store without records as new, not as emptied: do not wait for a lease at first use");
  command->add_flag("--back-off", options.back_off, "Wait longer between elections in a row: 0, 5-10s, 15-30s");
}

void add_time_options(CLI::App* command, FleetArguments& given) {
  add_text(command, "--profile", given.profile, "NAME",
           "Profile for the times: production, high-availability or lenient");
  add_duration(command, "--ttl", given.ttl,
               "Length of the lease (default by profile: 180s); the other times scale with it");
  add_duration(command, "--heartbeat", given.heartbeat,
               "Interval of renewals and of heartbeats in the registry (default 60s)");
  add_duration(command, "--stale-after", given.stale_after, "An agent is stale after this silence (default 120s)");
  add_duration(command, "--dead-after", given.dead_after,
               "An agent is dead after this silence, and removed (default 600s)");
  CLI::Option* adaptive =
      command->add_flag("--adaptive", given.adaptive,
                        "The lease follows the store: longer when renewals are slow, with three renewals in it always");
  adaptive->excludes(command->get_option("--heartbeat"));
  add_lease_bounds(command, given.bounds, "With --adaptive: shortest lease (default --ttl)",
                   "With --adaptive: longest lease (default four times --ttl)");
  command->get_option("--ttl-min")->needs(adaptive);
  command->get_option("--ttl-max")->needs(adaptive);
}

void add_work_options(CLI::App* command, FleetArguments& given) {
  lead::FleetOptions& options = given.options;
  command->add_option("--parallel", options.parallel, "Number of tasks at a time (default 1)")
      ->check(CLI::Range(1, 64));
  command->add_option("--attempts", options.tries_most, "Number of attempts before a task counts as failed (default 5)")
      ->check(CLI::Range(1, 1'000'000));
  add_duration(command, "--retry-after", options.retry_after, "Wait before a failed task runs again (default 10s)");
  add_duration(command, "--poll", options.poll, "Interval between looks for new tasks (default 1s)");
  add_duration(command, "--grace", options.grace, "Time from SIGTERM to SIGKILL when tasks are stopped (default 10s)");
  command->add_flag("--until-done", options.until_done, "End when no task is left: with 0, or with 1 if a task failed");
  add_text(command, "--health-cmd", options.health_command, "COMMAND",
           "Shell command that checks this agent; if it fails, the agent gives up the leadership");
  add_duration(command, "--health-every", options.health_every, "Interval of --health-cmd (default 5s)");
  add_telling(command, given.telling, options.audit_file, &options.metrics_at, options.json);
  command->add_option("COMMAND", options.command, "Command after '--'; it runs once for each task");
}

}  // namespace

Result<lead::AgentProfile> profile_named(const std::string& name) {
  if (const auto profile = lead::find_profile(name)) return *profile;
  return fail(Errc::kInvalid,
              fmt::format("there is no profile '{}'; there are production, high-availability and lenient", name));
}

void FleetPlaces::complete() {
  if (folder.empty()) return;
  if (registry.empty()) registry = folder + "/agents.json";
  if (queue.empty()) queue = folder + "/tasks.json";
  if (via.empty()) via = fmt::format("file:{}/orchestrator-state.json", folder);
  if (key.empty()) key = "default";
}

Status FleetPlaces::make_folder() const {
  std::error_code wrong;
  if (!folder.empty()) std::filesystem::create_directories(folder, wrong);
  return wrong ? fail(Errc::kInvalid, "--dir '{}': {}", folder, wrong.message()) : Status();
}

void act_as_owner_of(const std::string& path) {
  struct stat file {};
  if (::geteuid() != 0 || ::stat(path.c_str(), &file) != 0 || file.st_uid == 0) return;
  const bool dropped = ::setgroups(0, nullptr) == 0 && ::setegid(file.st_gid) == 0 && ::seteuid(file.st_uid) == 0;
  check(dropped, "root may act as anybody");
}

void add_fleet_folder(CLI::App* command, FleetPlaces& places) {
  add_text(command, "-d,--dir", places.folder, "DIR",
           "The fleet's folder, on a disk that all agents see: agents.json, tasks.json and the lease "
           "orchestrator-state.json");
}

void add_agents(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AgentsOptions>();
  CLI::App* agents = new_verb(app, "agents");
  agents->require_subcommand(1);
  add_agents_lead(*agents, exit_code);
  add_agents_tasks(*agents, exit_code);
  add_lease(add_act(agents, "list", options, exit_code), *options);
  CLI::App* joins = add_act(agents, "register", options, exit_code);
  add_text(joins, "--id", options->id, "NAME", "The agent's name, unique in the fleet")->required();
  add_text(joins, "--role", options->role, "NAME", "Role of the agent (default worker)");
  joins->add_option("--pid", options->pid, "Process id of the agent (default: the parent of this command)");
  CLI::App* beats = add_act(agents, "heartbeat", options, exit_code);
  add_text(beats, "--id", options->id, "NAME", "The agent's name")->required();
  CLI::Option* clean =
      beats->add_flag("--clean", options->clean, "As the leader: mark stale agents and remove dead agents");
  CLI::Option* epoch = beats->add_option("--epoch", options->epoch, "The leader's epoch")->needs(clean);
  add_text(beats, "--queue", options->places.queue, "PATH", "Return the tasks of stale agents to this queue file")
      ->needs(epoch);
  add_lease(beats, *options);
  CLI::App* leaves = add_act(agents, "deregister", options, exit_code);
  add_text(leaves, "--id", options->id, "NAME", "The agent's name")->required();
  agents->footer(
      "Exit codes: 0 done, 1 not done (no such agent, not the leader, or a file or store failed), 104 wrong command "
      "line.");
}

void add_agents_lead(CLI::App& agents, int& exit_code) {
  auto given = std::make_shared<FleetArguments>();
  CLI::App* command = new_verb(agents, "lead");
  add_fleet_options(command, *given);
  add_time_options(command, *given);
  add_work_options(command, *given);
  command->footer(
      "The command runs once for each task, with BELLWETHER_TASK (its name), BELLWETHER_TASK_NUMBER, "
      "BELLWETHER_TASK_PAYLOAD, BELLWETHER_TASK_ATTEMPT and BELLWETHER_EPOCH, the fencing token. After exit code 0 the "
      "task is done and never runs again. After any other code it runs again, --attempts times at most. If the leader "
      "dies, the next leader runs the task again under a higher epoch.\n"
      "\n"
      "Exit codes: 0 ended by a signal, as a follower (--exit-if-follower), or with all tasks done (--until-done); 1 "
      "tasks have failed (--until-done); 104 wrong command line, or an unusable store or file; 126 the command cannot "
      "be executed, 127 there is no such command.");
  command->callback([given, &exit_code] { exit_code = answer("agents lead", run_fleet_lead(*given)); });
}

}  // namespace bellwether::cli
