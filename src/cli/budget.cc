// bellwether budget: how long a key is without a holder, before anything runs.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/budget_cluster.h"
#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/sources.h"
#include "cli/table.h"
#include "cli/verb.h"
#include "cluster/net/node_config.h"
#include "core/base/units.h"
#include "election/lease_timing.h"
#include "election/store/store_url.h"
#include "lead/agents/profile.h"
#include "lead/policy/loop_budget.h"

namespace bellwether::cli {
namespace {

using election::FailoverBudget;
using election::Sum;
using lead::LoopBudget;
using lead::LoopPolicy;
using nlohmann::json;

constexpr int kExitPromiseBroken = 1;

struct BudgetOptions {
  std::string file;
  std::string profile;
  std::string via;
  std::string ttl;
  std::string renew;
  std::string retry;
  std::string store_p99 = "50ms";
  bool json = false;
  bool of_cluster = false;
  ClusterBudgetOptions cluster;
};

json to_json(const Sum& sum) {
  return {{"seconds", seconds(sum.total)}, {"formula", sum.formula()}, {"arithmetic", sum.arithmetic()}};
}

json to_json(const FailoverBudget& budget) {
  json out{{"crash", {{"worst", to_json(budget.crash_worst)}, {"typical", to_json(budget.crash_typical)}}},
           {"release", {{"worst", to_json(budget.release_worst)}, {"typical", to_json(budget.release_typical)}}},
           {"hang", nullptr}};
  if (budget.hang_worst) out["hang"] = {{"worst", to_json(*budget.hang_worst)}};
  return out;
}

json seconds_or_null(std::optional<Duration> span) { return span ? json(seconds(*span)) : json(nullptr); }

std::string suggestion_text(const election::Suggestion& found, bool renews) {
  return "poll_interval: " + format_duration(found.poll) + ", lock_ttl: " + format_duration(found.lease) +
         (renews ? ", renew_every: " + format_duration(found.renew_every) : "");
}

void explain(const LoopPolicy& loop, const LoopBudget& budget) {
  const Sum& worst = budget.budget.crash_worst;
  std::printf("\n%s: cannot keep its promise\n", loop.name.c_str());
  std::printf("  after a crash: %s\n               = %s\n", worst.formula().c_str(), worst.arithmetic().c_str());
  if (budget.slo_holds == false) {
    std::printf("  takeover_slo %s is less than %s\n", format_duration(*loop.takeover_slo).c_str(),
                about(worst.total).c_str());
  }
  if (budget.stale_holds == false) {
    std::printf("  stale_window %s is less than %s + the poll before the crash %s = %s\n",
                format_duration(*loop.stale_window).c_str(), about(worst.total).c_str(),
                about(budget.input.poll).c_str(), about(budget.stale_worst).c_str());
  }
  if (budget.suggestion) {
    std::printf("  would keep it: %s\n",
                suggestion_text(*budget.suggestion, loop.renew_every > Duration::zero()).c_str());
    if (loop.longest_tick >= budget.suggestion->lease) {
      std::printf("  but its longest tick %s does not fit into that TTL: it must be renewed, or made shorter\n",
                  format_duration(loop.longest_tick).c_str());
    }
  } else {
    std::printf("  no poll and TTL keep it on this store: promise more, or use a faster one\n");
  }
}

json to_json(const LoopPolicy& loop, const LoopBudget& budget, const std::string& store) {
  json out = to_json(budget.budget);
  out["loop"] = loop.name;
  out["line"] = loop.place.line;
  out["key"] = loop.lock_key;
  out["store"] = store.empty() ? json(nullptr) : json(store);
  out["mechanism"] = budget.input.mechanism.name;
  out["poll_interval"] = seconds(loop.poll_interval);
  out["lock_ttl"] = seconds(loop.lock_ttl);
  out["renew_every"] = seconds(loop.renew_every);
  out["release_mode"] = to_string(loop.release_mode);
  out["takeover_slo"] = seconds_or_null(loop.takeover_slo);
  out["stale_window"] = seconds_or_null(loop.stale_window);
  out["stale_worst"] = seconds(budget.stale_worst);
  out["slo_holds"] = budget.slo_holds ? json(*budget.slo_holds) : json(nullptr);
  out["stale_holds"] = budget.stale_holds ? json(*budget.stale_holds) : json(nullptr);
  out["suggestion"] = nullptr;
  if (const auto& found = budget.suggestion) {
    out["suggestion"] = {{"poll_interval", seconds(found->poll)},
                         {"lock_ttl", seconds(found->lease)},
                         {"renew_every", seconds(found->renew_every)}};
  }
  return out;
}

void print_policy(const lead::Policy& policy, const std::vector<LoopBudget>& budgets) {
  Table table({"LOOP", "KEY", "POLL", "TTL", "RENEW", "MODE", "CRASH worst", "typical", "RELEASE worst", "SLO", ""});
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    const LoopPolicy& loop = policy.loops[i];
    const FailoverBudget& budget = budgets[i].budget;
    const bool promised = loop.takeover_slo || loop.stale_window;
    table.add({loop.name, loop.lock_key, format_duration(loop.poll_interval), format_duration(loop.lock_ttl),
               loop.renew_every > Duration::zero() ? format_duration(loop.renew_every) : "never",
               std::string(to_string(loop.release_mode)), about(budget.crash_worst.total),
               about(budget.crash_typical.total), about(budget.release_worst.total),
               loop.takeover_slo ? format_duration(*loop.takeover_slo) : "-",
               !promised            ? "no promise"
               : budgets[i].holds() ? "holds"
                                    : "CANNOT HOLD"});
  }
  std::fputs(table.text().c_str(), stdout);
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    if (!budgets[i].holds()) explain(policy.loops[i], budgets[i]);
  }
}

int budget_of_policy(const BudgetOptions& options, Duration operation) {
  std::vector<yaml::Diagnostic> warnings;
  const auto policy = load_policy(options.file, warnings);
  if (!policy) {
    std::fprintf(stderr, "bellwether budget: %s\n", policy.error().message.c_str());
    return kExitUsage;
  }
  for (const yaml::Diagnostic& warning : warnings) {
    std::fprintf(stderr, "warning: %s\n", yaml::format(warning).c_str());
  }
  std::vector<LoopBudget> budgets;
  bool holds = true;
  for (const LoopPolicy& loop : policy->loops) {
    budgets.push_back(budget_of_loop(loop, operation, options.via));
    holds = holds && budgets.back().holds();
  }
  if (options.json) {
    json out{{"format", "bellwether.budget/1"}, {"policy", options.file}, {"holds", holds}, {"loops", json::array()}};
    out["store_p99"] = seconds(operation);
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      const LoopPolicy& loop = policy->loops[i];
      out["loops"].push_back(to_json(loop, budgets[i], loop.store.empty() ? options.via : loop.store));
    }
    std::printf("%s\n", out.dump(2, ' ', false, json::error_handler_t::replace).c_str());
  } else {
    print_policy(*policy, budgets);
  }
  return holds ? kExitOk : kExitPromiseBroken;
}

int budget_of_profile(const BudgetOptions& options, Duration operation, const election::Mechanism& mechanism) {
  const auto profile = lead::find_profile(options.profile);
  if (!profile) {
    std::fprintf(stderr,
                 "bellwether budget: there is no profile '%s'; there are production, high-availability and lenient\n",
                 options.profile.c_str());
    return kExitUsage;
  }
  const FailoverBudget budget = election::budget_of({.mechanism = mechanism,
                                                     .poll = profile->watchdog,
                                                     .lease = profile->lease,
                                                     .renew_every = profile->heartbeat,
                                                     .operation = operation});
  const election::BackoffSettings backoff;
  const Duration frozen = profile->stale_after + profile->watchdog;
  if (options.json) {
    json out = to_json(budget);
    out.update({{"format", "bellwether.budget/1"},
                {"profile", profile->name},
                {"mechanism", mechanism.name},
                {"lease", seconds(profile->lease)},
                {"heartbeat", seconds(profile->heartbeat)},
                {"stale_after", seconds(profile->stale_after)},
                {"watchdog", seconds(profile->watchdog)},
                {"safety_margin", safety_margin(*profile)},
                {"frozen_restarted_after", seconds(frozen)}});
    std::printf("%s\n", out.dump(2).c_str());
    return kExitOk;
  }
  std::printf("%s on a %s: lease %s, heartbeat %s, stale after %s, watchdog %s, safety margin %.1f\n",
              options.profile.c_str(), std::string(mechanism.name).c_str(), format_duration(profile->lease).c_str(),
              format_duration(profile->heartbeat).c_str(), format_duration(profile->stale_after).c_str(),
              format_duration(profile->watchdog).c_str(), safety_margin(*profile));
  print_failover(budget);
  std::printf("  %-22s %-8s stale after + watchdog\n", "frozen, restarted", about(frozen).c_str());
  std::printf("  A second election within %s waits up to %s more, later ones up to %s.\n",
              format_duration(backoff.window).c_str(), format_duration(backoff_worst(backoff, 1)).c_str(),
              format_duration(backoff_worst(backoff, 2)).c_str());
  return kExitOk;
}

int budget_of_candidate(const BudgetOptions& options, Duration operation, const election::Mechanism& mechanism) {
  const auto ttl = parse_duration(options.ttl);
  election::LeaseTiming timing = election::LeaseTiming::of(ttl.value_or(Duration::seconds(15)));
  const auto renew = options.renew.empty() ? Result<Duration>(timing.renew_every) : parse_duration(options.renew);
  const auto retry = options.retry.empty() ? Result<Duration>(timing.retry) : parse_duration(options.retry);
  for (const auto* wrong : {&ttl, &renew, &retry}) {
    if (*wrong) continue;
    std::fprintf(stderr, "bellwether budget: %s\n", wrong->error().message.c_str());
    return kExitUsage;
  }
  timing.renew_every = *renew;
  timing.retry = *retry;
  if (const auto unsafe = timing.validate(); !unsafe) {
    std::fprintf(stderr, "bellwether budget: %s\n", unsafe.error().message.c_str());
    return kExitPromiseBroken;
  }
  for (const std::string& warning : timing.warnings()) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  const FailoverBudget budget = election::budget_of({.mechanism = mechanism,
                                                     .poll = timing.retry,
                                                     .lease = timing.lease,
                                                     .renew_every = timing.renew_every,
                                                     .operation = operation});
  if (options.json) {
    json out = to_json(budget);
    out.update({{"format", "bellwether.budget/1"},
                {"mechanism", mechanism.name},
                {"lease", seconds(timing.lease)},
                {"renew_every", seconds(timing.renew_every)},
                {"renew_deadline", seconds(timing.renew_deadline)},
                {"retry", seconds(timing.retry)}});
    std::printf("%s\n", out.dump(2).c_str());
    return kExitOk;
  }
  std::printf("%s: TTL %s, renew every %s until %s, retry (poll) %s\n", std::string(mechanism.name).c_str(),
              format_duration(timing.lease).c_str(), format_duration(timing.renew_every).c_str(),
              format_duration(timing.renew_deadline).c_str(), format_duration(timing.retry).c_str());
  print_failover(budget);
  return kExitOk;
}

int run_cluster_budget(const BudgetOptions& options, Duration operation) {
  ClusterBudgetOptions wanted = options.cluster;
  wanted.profile = options.profile;
  if (store::is_group_url(options.via)) {
    const auto colon = options.via.find(':');
    wanted.elects = options.via.substr(0, colon);
    wanted.file = options.via.substr(colon + 1);
  } else {
    wanted.via = options.via;
  }
  wanted.operation = operation;
  wanted.json = options.json;
  if (!options.ttl.empty()) {
    const auto ttl = parse_duration(options.ttl);
    if (!ttl) {
      std::fprintf(stderr, "bellwether budget: --ttl: %s\n", ttl.error().message.c_str());
      return kExitUsage;
    }
    wanted.lease = *ttl;
  }
  return budget_of_cluster(wanted);
}

int run_budget(const BudgetOptions& options) {
  const auto operation = parse_duration(options.store_p99);
  if (!operation || *operation > Duration::hours(1)) {
    std::fprintf(stderr, "bellwether budget: --store-p99 '%s': write a duration such as 50ms, at most 1h\n",
                 options.store_p99.c_str());
    return kExitUsage;
  }
  const bool in_group = store::is_group_url(options.via);
  if (in_group && (!options.file.empty() || !options.cluster.file.empty())) {
    std::fprintf(stderr, "bellwether budget: --via %s has the settings of a group: leave out the sheet, or --config\n",
                 options.via.c_str());
    return kExitUsage;
  }
  if (in_group || (options.of_cluster && (options.via.empty() || options.via == cluster::kVote)))
    return run_cluster_budget(options, *operation);
  election::Mechanism mechanism = election::mechanism_of(options.profile.empty() ? "" : "file");
  if (!options.via.empty()) {
    const auto url = store::parse_store_url(options.via);
    if (!url) {
      std::fprintf(stderr, "bellwether budget: --via: %s\n", url.error().message.c_str());
      return kExitUsage;
    }
    mechanism = election::mechanism_of(url->scheme);
  }
  if (options.of_cluster) return run_cluster_budget(options, *operation);
  if (!options.profile.empty() && !options.ttl.empty()) {
    std::fprintf(stderr, "bellwether budget: --profile and --ttl: a profile has a lease of its own\n");
    return kExitUsage;
  }
  if (!options.file.empty()) return budget_of_policy(options, *operation);
  if (!options.profile.empty()) return budget_of_profile(options, *operation, mechanism);
  if (!options.ttl.empty()) return budget_of_candidate(options, *operation, mechanism);
  std::fprintf(stderr, "bellwether budget: give a policy sheet, --profile NAME, --via URL --ttl TIME, or --cluster\n");
  return kExitUsage;
}

}  // namespace

void add_budget(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<BudgetOptions>();
  CLI::App* command = new_verb(app, "budget", "How long is a key without a holder? Asked before anything runs");
  CLI::Option* file = command->add_option("POLICY", options->file, "Policy sheet (YAML)");
  CLI::Option* profile = command->add_option(
      "--profile", options->profile,
      "production, high-availability or lenient (fleets of agents); with --cluster lan, wan or local");
  command
      ->add_option("--via", options->via,
                   "Store, where the sheet names none; a group, vote:FILE or quorum:FILE; with --cluster also vote")
      ->type_name("URL");
  CLI::Option* ttl = command->add_option("--ttl", options->ttl, "Of a single candidate: its lease")->type_name("TIME");
  command->add_option("--renew", options->renew, "Renew so often (default TTL / 3)")->type_name("TIME")->needs(ttl);
  command->add_option("--retry", options->retry, "Look so often (default TTL x 2/15)")->type_name("TIME")->needs(ttl);
  command->add_option("--store-p99", options->store_p99, "One operation of the store, 99 of 100 times (default 50ms)")
      ->type_name("TIME");
  command->add_flag("--json", options->json, "One JSON document instead of the table; times in seconds");
  CLI::Option* cluster = command->add_flag("--cluster", options->of_cluster, "Of a cluster of nodes");
  ClusterBudgetOptions& of_cluster = options->cluster;
  command->add_option("-c,--config", of_cluster.file, "A node's settings")->type_name("FILE")->needs(cluster);
  command->add_option("--nodes", of_cluster.nodes, "So many (default as many as vote, at least 5)")->needs(cluster);
  command->add_option("--voters", of_cluster.voters, "So many vote (default those of --config, or 5)")->needs(cluster);
  add_duration(command, "--rtt", of_cluster.round_trip, "Between voters (default 2ms, wan 250ms)");
  add_duration(command, "--sync", of_cluster.sync, "Of a voter's disk, 99 of 100 times (default 10ms)");
  for (const char* name : {"--rtt", "--sync"}) command->get_option(name)->needs(cluster);
  file->excludes(profile)->excludes(ttl)->excludes(cluster);
  command->footer(
      "Examples:\n"
      "  bellwether budget examples/leadership/policy.yaml\n"
      "  bellwether budget --profile high-availability\n"
      "  bellwether budget --via redis://127.0.0.1:6379 --ttl 15s\n"
      "  bellwether budget --cluster --config examples/cluster/m1.yaml --nodes 100\n\n"
      "Exit codes: 0 every promise can be kept, 1 a takeover_slo or stale_window cannot hold (with the arithmetic and\n"
      "values that would), 104 wrong sheet or command line.");
  command->callback([options, &exit_code] { exit_code = run_budget(*options); });
}

}  // namespace bellwether::cli
