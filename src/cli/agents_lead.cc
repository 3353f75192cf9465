// bellwether agents lead: lead a fleet from its task queue, or follow.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <unistd.h>

#include "cli/agents.h"
#include "cli/verb.h"
#include "core/base/units.h"
#include "lead/agents/agent_registry.h"
#include "lead/agents/fleet_leader.h"

namespace bellwether::cli {
namespace {

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
  const double share = static_cast<double>(of_profile.ns()) / static_cast<double>(profile.lease.ns());
  return Duration::nanos(static_cast<int64_t>(share * static_cast<double>(ttl.ns())));
}

// The times of a profile; with another lease all of them in the same proportion to it.
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
    return fail(Errc::kInvalid, "--dead-after " + format_duration(options.ages.dead_after) +
                                    " must be longer than --stale-after " + format_duration(options.ages.stale_after) +
                                    ", and that longer than the heartbeat " + format_duration(options.heartbeat) +
                                    ": else agents that live are marked");
  }
  return {};
}

Status set_adaptive(FleetArguments& given) {
  if (!given.adaptive) return {};
  lead::FleetOptions& options = given.options;
  options.timing = election::LeaseTiming::of(options.timing.lease);  // with three renewals in it, whatever its length
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
    if (value->empty())
      return fail(Errc::kInvalid, std::string("where is the fleet? Give --dir DIR, or else ") + what + " too");
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
    return refuse("agents lead",
                  "what shall run for each task? Give it behind '--':  bellwether agents lead --dir DIR -- COMMAND "
                  "ARGUMENTS");
  }
  options.verbosity = given.telling.verbosity();
  BW_RETURN_IF_ERROR(given.places.make_folder());
  // A task gets its payload from its environment; what is typed into this terminal is not meant for it.
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  return in_runtime("agents lead", [&](auto& runtime) { return run_fleet_leader(runtime, options); });
}

void add_fleet_options(CLI::App* command, FleetArguments& given) {
  lead::FleetOptions& options = given.options;
  add_fleet_folder(command, given.places);
  add_text(command, "--registry", given.places.registry, "PATH", "... or the registry of agents alone");
  add_text(command, "--queue", given.places.queue, "PATH", "... the queue of tasks");
  add_text(command, "--via", given.places.via, "URL", "... and where the lease is kept, as for `lead`");
  command->add_option("-k,--key", given.places.key, "The key of the lease (default default)");
  add_text(command, "--id,--agent", options.id, "NAME", "This agent's name, unique in the fleet (default HOST:PID)");
  options.role = "orchestrator";
  command->add_option("--role", options.role, "Its role in the registry (default orchestrator)");
  command->add_option("--region", options.region, "Its region: a successor in the leader's region goes first");
  add_duration(command, "--cross-region-wait", options.cross_region_wait, "... by so long");
  command->add_flag("--exit-if-follower", options.exit_if_follower, "End with 0 when a healthy leader is seen");
  command->add_flag("--trust-empty", options.trust_empty,
                    "A store without any record of us is new, not emptied: do not wait a lease at first use");
  command->add_flag("--back-off", options.back_off, "Wait between elections that follow each other: 0, 5-10s, 15-30s");
}

void add_time_options(CLI::App* command, FleetArguments& given) {
  command->add_option("--profile", given.profile, "production, high-availability or lenient: sets the times");
  add_duration(command, "--ttl", given.ttl, "The lease (default by profile: 180s); the other times keep proportion");
  add_duration(command, "--heartbeat", given.heartbeat, "Renew the lease, and say so in the registry, so often (60s)");
  add_duration(command, "--stale-after", given.stale_after, "An agent silent for so long is stale (120s)");
  add_duration(command, "--dead-after", given.dead_after, "... dead, and forgotten (600s)");
  CLI::Option* adaptive =
      command->add_flag("--adaptive", given.adaptive,
                        "The lease follows the store: longer when renewals are slow, with three renewals in it always");
  adaptive->excludes(command->get_option("--heartbeat"));
  add_lease_bounds(command, given.bounds, "... not shorter than this (default --ttl)",
                   "... nor longer (default four times --ttl)");
  command->get_option("--ttl-min")->needs(adaptive);
  command->get_option("--ttl-max")->needs(adaptive);
}

void add_work_options(CLI::App* command, FleetArguments& given) {
  lead::FleetOptions& options = given.options;
  command->add_option("--parallel", options.parallel, "Tasks at a time (default 1)")->check(CLI::Range(1, 64));
  command->add_option("--attempts", options.tries_most, "Put a task aside after so many (default 5)")
      ->check(CLI::Range(1, 1'000'000));
  add_duration(command, "--retry-after", options.retry_after, "Begin a task that failed again after so long (10s)");
  add_duration(command, "--poll", options.poll, "Look for new tasks so often (default 1s)");
  add_duration(command, "--grace", options.grace, "From SIGTERM to SIGKILL when work is stopped in good order (10s)");
  command->add_flag("--until-done", options.until_done,
                    "End when no task is left to do: with 0, or 1 when some failed");
  add_text(command, "--health-cmd", options.health_command, "TEXT",
           "Shell command that fails when this agent's work is not sound: then it gives the leadership up");
  add_duration(command, "--health-every", options.health_every, "... run so often (default 5s)");
  add_telling(command, given.telling, options.audit_file, &options.metrics_at, options.json);
  command->add_option("COMMAND", options.command, "Behind '--': what runs for each task");
}

}  // namespace

void add_agents_lead(CLI::App& agents, int& exit_code) {
  auto given = std::make_shared<FleetArguments>();
  CLI::App* command = new_verb(agents, "lead", "Leads the fleet and works its queue off, or follows who does");
  add_fleet_options(command, *given);
  add_time_options(command, *given);
  add_work_options(command, *given);
  command->footer(
      "The command runs once for each task, with BELLWETHER_TASK (its name), BELLWETHER_TASK_NUMBER,\n"
      "BELLWETHER_TASK_PAYLOAD, BELLWETHER_TASK_ATTEMPT and BELLWETHER_EPOCH, the fencing token. Exit code 0: the "
      "task\n"
      "is done, and never begun again. Else it is begun again, --attempts times at most. A task whose leader dies is\n"
      "begun again by the next one, under a higher epoch.\n\n"
      "Examples:\n"
      "  bellwether agents lead --dir fleet --id a1 -- ./do-task.sh\n"
      "  bellwether agents lead --dir fleet --via redis://10.0.0.5 --profile high-availability -- ./do-task.sh\n"
      "  bellwether agents tasks add --dir fleet nightly --payload '{\"day\": 1}'\n\n"
      "Exit codes: 0 ended by a signal, as a follower (--exit-if-follower), or with all done (--until-done); 1 "
      "nothing\n"
      "  is left to do but tasks have failed (--until-done); 104 wrong command line, or a store or file that cannot "
      "be\n"
      "  used; 126 the command cannot be executed, 127 there is no such command.");
  command->callback([given, &exit_code] { exit_code = answer("agents lead", run_fleet_lead(*given)); });
}

}  // namespace bellwether::cli
