// bellwether lead: run a command only while leading.

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cluster_choice.h"
#include "cli/verb.h"
#include "election/store/lease_store.h"
#include "election/store/store_url.h"
#include "lead/roles/group_campaign.h"
#include "lead/run/leader_run.h"

namespace bellwether::cli {
namespace {

// `bellwether lead --via vote:FILE` and `quorum:FILE`: the options for a group that elects its leader itself.
struct GroupGiven {
  bool first_start = false;
  std::vector<std::string> of_stores;  // options that only apply to a store, as given
};

std::string_view scheme_of(std::string_view via) { return via.substr(0, via.find(':')); }

std::string in_quotes(std::string_view text) { return fmt::format("'{}'", text); }

// The URL, the other options and the file must agree.
Status check(const lead::LeadOptions& options, const GroupGiven& given, const cluster::NodeConfig& config,
             const std::string& file) {
  const std::string scheme(scheme_of(options.via));
  if (!given.of_stores.empty()) {
    return fail(Errc::kInvalid, fmt::format("{} is for stores. In a group the times come from {} ('profile', "
                                            "'security.election_config'), the name and the region too: leave it out",
                                            given.of_stores.front(), in_quotes(file)));
  }
  if (config.leadership != scheme) {
    return fail(Errc::kInvalid, "{}: 'leadership' is {} in the settings of {}: say leadership: {} there, or --via {}",
                options.via, in_quotes(config.leadership), in_quotes(file), scheme,
                config.delegates() ? config.leadership : fmt::format("{}:{}", config.leadership, file));
  }
  if (config.role != wire::Role::kManager) {
    return fail(Errc::kInvalid, "{}: the role is {} there, and only a manager leads: leave 'role' out", options.via,
                in_quotes(to_string(config.role)));
  }
  if (!options.observe && !config.votes()) {
    return fail(Errc::kInvalid,
                "{}: 'voters' does not name {}, and only voters lead: add it, on all nodes, or give --observe",
                options.via, in_quotes(config.name));
  }
  if (config.votes_by_score() && config.vote.rule != vote::QuorumRule::kMajority) {
    return fail(Errc::kInvalid, "{}: 'vote.quorum' is {} there, under which two may lead at once: leave it out",
                options.via, in_quotes(to_string(config.vote.rule)));
  }
  const bool has_key_command = !config.vote.key_command.empty();
  if (has_key_command || config.context.serves) {
    return fail(Errc::kInvalid,
                "{}: {} is in the settings of {}, and this process leads its own command: leave one of them out",
                options.via, has_key_command ? "'vote.key_command'" : "'context.serve'", in_quotes(file));
  }
  if (options.key != config.cluster) {
    return fail(Errc::kInvalid,
                "--key is {}, and this group leads one thing, itself: say --key {}, or leave it out; a second key "
                "needs a second group",
                in_quotes(options.key), config.cluster);
  }
  if (!options.holder.empty() && options.holder != config.name) {
    return fail(Errc::kInvalid, "--id is {}, and 'name' in the settings of {} is {}: leave --id out",
                in_quotes(options.holder), in_quotes(file), in_quotes(config.name));
  }
  return {};
}

// Runs it: the exit code of the process. Errors go to standard error.
int run_lead_in_group(lead::LeadOptions& options, const GroupGiven& given) {
  const std::string file = options.via.substr(options.via.find(':') + 1);
  if (file.empty()) {
    return refuse(
        "lead", fmt::format("{} names no file: --via {}FILE, the settings of a node (YAML)", options.via, options.via));
  }
  auto read = read_node_settings({.file = file, .assignments = {}});
  if (!read.config) return kExitUsage;
  if (options.key.empty()) options.key = read.config->cluster;
  if (const Status good = check(options, given, *read.config, file); !good) {
    return refuse("lead", good.error().message);
  }
  node::NodeOptions node;
  node.config = std::move(*read.config);
  node.first_start = given.first_start;
  return in_runtime("lead", [&](auto& runtime) { return node::run_group_leader(runtime, options, node); });
}

// The options without a meaning where nodes elect among them.
constexpr std::array kOfStores{
    "--ttl",           "--renew",    "--renew-deadline", "--grace",        "--retry",
    "--store-timeout", "--ttl-min",  "--ttl-max",        "--region",       "--cross-region-wait",
    "--trust-empty",   "--back-off", "--flap-damping",   "--no-minted-id", "--close"};

struct LeadArguments {
  lead::LeadOptions options;
  std::optional<Duration> ttl;
  LeaseBounds bounds;
  std::optional<Duration> renew;
  std::optional<Duration> deadline;
  std::optional<Duration> grace;
  std::optional<Duration> retry;
  std::optional<Duration> store_timeout;
  std::string shell;
  Telling telling;
  bool no_fork = false;
  GroupGiven group;
};

// A lease that follows the store keeps its default proportions.
Status let_lease_follow(LeadArguments& given) {
  if (!given.bounds.least && !given.bounds.most) return {};
  lead::LeadOptions& options = given.options;
  if (given.renew || given.deadline || given.grace || given.retry || given.store_timeout) {
    return fail(Errc::kInvalid,
                "--ttl-min and --ttl-max let all times follow the lease: leave out --renew, --renew-deadline, --grace, "
                "--retry and --store-timeout");
  }
  BW_TRY(options.lease_follows, settings_within(given.bounds, options.timing.lease, options.timing.lease));
  return {};
}

Status set_lease_times(LeadArguments& given) {
  lead::LeadOptions& options = given.options;
  options.timing = election::LeaseTiming::of(given.ttl.value_or(store::usual_lease(options.via)));
  if (given.renew) options.timing.renew_every = *given.renew;
  if (given.deadline) options.timing.renew_deadline = *given.deadline;
  if (given.grace) options.timing.stop_grace = *given.grace;
  if (given.retry) options.timing.retry = *given.retry;
  if (given.store_timeout) options.timing.store_timeout = *given.store_timeout;
  BW_RETURN_IF_ERROR(options.timing.validate());
  return let_lease_follow(given);
}

Result<int> run_lead(LeadArguments& given) {
  lead::LeadOptions& options = given.options;
  const bool in_group = store::is_group_url(options.via);
  if (!in_group) {
    if (options.key.empty()) return fail(Errc::kInvalid, "--key KEY is missing: give the key to lead, any text");
    if (given.group.first_start)
      return fail(Errc::kInvalid, "--first-start is for vote: and quorum:, where nodes vote: leave it out");
    BW_RETURN_IF_ERROR(set_lease_times(given));
  }
  if (!given.shell.empty()) {
    if (!options.command.empty()) return fail(Errc::kInvalid, "give either --command TEXT or -- COMMAND, not both");
    options.command = {"/bin/sh", "-c", given.shell};
  }
  if (options.observe) {
    if (!options.command.empty()) return fail(Errc::kInvalid, "--observe only shows the leader: leave the command out");
  } else if (options.command.empty()) {
    return fail(
        Errc::kInvalid,
        "the command to run is missing; write it after '--': bellwether lead --via {} --key K -- COMMAND ARGUMENTS",
        options.via.empty() ? std::string("URL") : options.via);
  }
  options.verbosity = given.telling.verbosity();
  if (in_group) return run_lead_in_group(options, given.group);
  return in_runtime("lead", [&](auto& runtime) { return run_leader(runtime, options); });
}

void add_election_options(CLI::App* command, LeadArguments& given) {
  lead::LeadOptions& options = given.options;
  add_text(command, "--via", options.via, "URL",
           "Store or group that decides who leads, such as flock: or redis://HOST")
      ->required();
  add_text(command, "-k,--key", options.key, "KEY",
           "The key to lead: any text; with vote: and quorum: the name of the cluster");
  add_text(command, "--id", options.holder, "NAME", "Name of this process in the lease (default HOST:PID)");
  add_duration(command, "--ttl", given.ttl,
               "Length of the lease: how long candidates wait after the last renewal (default 15s; flock: 10s)");
  add_duration(command, "--renew", given.renew, "Interval of renewals (default: a third of the lease)");
  add_duration(command, "--renew-deadline", given.deadline,
               "The term ends after this time without a confirmed renewal (default: two thirds of the lease)");
  add_duration(command, "--grace", given.grace,
               "Time from SIGTERM to SIGKILL when a term ends (default: the rest of the lease)");
  add_duration(command, "--retry", given.retry,
               "Interval of looks while another process leads (default: 2/15 of the lease)");
  add_duration(command, "--store-timeout", given.store_timeout,
               "Longest wait for the store (default: a tenth of the lease)");
  add_lease_bounds(command, given.bounds, "Adapt the lease to the speed of the store; this is the shortest lease",
                   "Adapt the lease to the speed of the store; this is the longest lease");
  add_text(command, "--region", options.region, "NAME",
           "Region of this process; candidates in the leader's region go first");
  add_duration(command, "--cross-region-wait", options.cross_region_wait,
               "Candidates in other regions wait this much longer");
  command->add_flag("--trust-empty", options.trust_empty,
                    "Treat a store without records as new, not as emptied: do not wait for a lease at first use");
  command->add_flag("--back-off", options.back_off, "Wait longer between elections in a row: 0, 5-10s, 15-30s");
  command->add_flag("--flap-damping", options.flap_damping,
                    "After 4 changes of leader in a minute, wait 30s before the next candidacy");
  command->add_flag("--first-start", given.group.first_start,
                    "vote:, quorum: this node has never voted in its group; needed once, at its first start");
  command->add_flag("!--no-minted-id", options.may_mint_id,
                    "Refuse to start without --id or a name in the environment (profile nip-le: lead unelected)");
}

void add_command_options(CLI::App* command, LeadArguments& given) {
  lead::LeadOptions& options = given.options;
  command->add_flag("-n,--nonblock,--try", options.nonblock,
                    "Do not wait while another process leads: end with the code of -E");
  add_duration(command, "-w,--wait,--timeout", options.wait_most,
               "Longest wait for the leadership; a number without a unit: seconds, as in flock(1)", Bare::kSeconds);
  command
      ->add_option("-E,--conflict-exit-code", options.conflict_exit_code, "Exit code if -n or -w gives up (default 1)")
      ->check(CLI::Range(0, 255));
  command->add_flag("-o,--close", options.close_lock, "flock: do not pass the lock to the command");
  command->add_flag("-F,--no-fork", given.no_fork,
                    "Accepted as in flock(1), without effect: the command always has a guardian");
  add_text(command, "-c,--command", given.shell, "COMMAND", "Shell command, in place of -- COMMAND");
  command->add_flag("--once", options.once, "End after the first term, even if the leadership was lost");
  command->add_flag("--observe", options.observe, "Only print the leader and each change");
  command->add_option("--stop-signal", options.stop_signal, "Number of the signal that stops the command (default 15)")
      ->check(CLI::Range(1, 64));
  add_duration(command, "--drain", options.drain_most, "Kill the command if it takes longer than this to stop");
  add_text(command, "--on-elected", options.on_elected, "COMMAND", "Shell command that runs at each election");
  add_text(command, "--on-deposed", options.on_deposed, "COMMAND", "Shell command that runs at each end of a term");
  add_text(command, "--on-leader-changed", options.on_leader_changed, "COMMAND",
           "Shell command that runs when the leader changes");
  add_text(command, "--health-cmd", options.health_command, "COMMAND",
           "Shell command that checks the work; if it fails, the process gives up the key");
  add_duration(command, "--health-every", options.health_every, "Interval of --health-cmd (default 5s)");
  add_duration(
      command, "--progress-within", options.progress_within,
      "Longest time between writes of the command to descriptor BELLWETHER_PROGRESS_FD; else it loses the key");
  add_text(command, "--disk-probe", options.disk_probe, "DIR",
           "Folder on a disk that must answer, else the process gives up the key");
  add_telling(command, given.telling, options.audit_file, &options.metrics_at, options.json);
  command->add_option("COMMAND", options.command, "Command after '--'; it runs while this process leads");
}

}  // namespace

void add_lead(CLI::App& app, int& exit_code) {
  auto given = std::make_shared<LeadArguments>();
  CLI::App* command = new_verb(app, "lead");
  add_election_options(command, *given);
  add_command_options(command, *given);
  command->footer(
      fmt::format("Stores, which keep a lease:\n"
                  "{}Groups without a store, which elect a leader themselves; FILE has the settings of a node, as for "
                  "`bellwether node`:\n"
                  "{}\n"
                  "The command gets BELLWETHER_KEY, BELLWETHER_HOLDER and BELLWETHER_EPOCH, the fencing token. Pass "
                  "the token on with each\n"
                  "write, so that the resource can refuse a former leader: the page \"Fencing: the resource decides "
                  "last\" of the documentation.\n"
                  "\n"
                  "Exit codes: that of the command, 128 + N if signal N ended it; 1 (or -E) not elected with -n or -w, "
                  "75 the leadership was lost (--once), 104 wrong command line, 126 the command cannot be executed, "
                  "127 there is no such command.",
                  store::store_schemes_help(), store::group_schemes_help()));
  command->callback([given, command, &exit_code] {
    for (const char* name : kOfStores) {
      if (command->get_option(name)->count() > 0) given->group.of_stores.emplace_back(name);
    }
    exit_code = answer("lead", run_lead(*given));
  });
}

}  // namespace bellwether::cli
