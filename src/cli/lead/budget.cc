// bellwether budget: the time of a key without a holder, computed before anything runs. bellwether alerts: Prometheus
// rules for the loops of a policy sheet.

#include "cli/lead/budget.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/lead/agents.h"
#include "cli/sources.h"
#include "cli/verb.h"
#include "cluster/net/node_config.h"
#include "core/base/units.h"
#include "election/lease_timing.h"
#include "election/store/store_url.h"
#include "lead/agents/agent_registry.h"
#include "lead/policy/policy.h"

namespace bellwether::cli {
namespace {

using election::FailoverBudget;
using election::Sum;
using lead::LoopBudget;
using lead::LoopPolicy;

constexpr int kExitPromiseBroken = 1;

Value budget_seconds(std::optional<Duration> span) { return span ? Value(seconds_of(*span)) : Value(); }

std::string suggestion_text(const election::Suggestion& found, bool renews) {
  return fmt::format("poll_interval: {}, lock_ttl: {}{}", format_duration(found.poll), format_duration(found.lease),
                     renews ? ", renew_every: " + format_duration(found.renew_every) : "");
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

Value suggestion_of(const LoopBudget& budget) {
  if (!budget.suggestion) return {};
  return object_of({told("poll_interval", budget_seconds(budget.suggestion->poll)),
                    told("lock_ttl", budget_seconds(budget.suggestion->lease)),
                    told("renew_every", budget_seconds(budget.suggestion->renew_every))});
}

Fields loop_fields(const LoopPolicy& loop, const LoopBudget& of) {
  const auto span = [](const char* heading, const char* key, Duration time) {
    return Field(heading, key, budget_seconds(time), format_duration(time));
  };
  const FailoverBudget& budget = of.budget;
  const bool promised = loop.takeover_slo || loop.stale_window;
  const bool renews = loop.renew_every > Duration::zero();
  Fields out{
      {"LOOP", "loop", loop.name},
      told("line", loop.place.line),
      {"KEY", "key", loop.lock_key},
      told("store", loop.store.empty() ? Value() : Value(loop.store)),
      told("mechanism", of.input.mechanism.name),
      span("POLL", "poll_interval", loop.poll_interval),
      span("TTL", "lock_ttl", loop.lock_ttl),
      {"RENEW", "renew_every", budget_seconds(loop.renew_every), renews ? format_duration(loop.renew_every) : "never"},
      {"MODE", "release_mode", to_string(loop.release_mode)},
      shown("CRASH worst", about(budget.crash_worst.total)),
      shown("typical", about(budget.crash_typical.total)),
      shown("RELEASE worst", about(budget.release_worst.total)),
      {"SLO", "takeover_slo", budget_seconds(loop.takeover_slo),
       loop.takeover_slo ? format_duration(*loop.takeover_slo) : "-"},
      told("stale_window", budget_seconds(loop.stale_window)),
      told("stale_worst", budget_seconds(of.stale_worst)),
      told("slo_holds", of.slo_holds),
      told("stale_holds", of.stale_holds),
      told("suggestion", suggestion_of(of)),
      shown("", !promised    ? "no promise"
                : of.holds() ? "holds"
                             : "CANNOT HOLD")};
  for (const Field& sum : sums_of(budget)) out.push_back(told(sum.key, sum.value));
  return out;
}

Result<int> budget_of_policy(const BudgetOptions& options, Duration operation) {
  std::vector<yaml::Diagnostic> warnings;
  BW_TRY(auto policy, load_policy(options.policy, &warnings));
  use_store(options.via, policy.loops);
  for (const yaml::Diagnostic& warning : warnings) {
    std::fprintf(stderr, "warning: %s\n", yaml::format(warning).c_str());
  }
  std::vector<LoopBudget> budgets;
  std::vector<Fields> rows;
  bool holds = true;
  for (const LoopPolicy& loop : policy.loops) {
    budgets.push_back(budget_of_loop(loop, operation));
    rows.push_back(loop_fields(loop, budgets.back()));
    holds = holds && budgets.back().holds();
  }
  const Rows view(std::move(rows));
  if (options.json) {
    print_json({told("format", "bellwether.budget/1"), told("policy", options.policy), told("holds", holds),
                told("loops", view.list()), told("store_p99", budget_seconds(operation))});
  } else {
    print(view.table());
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      if (!budgets[i].holds()) explain(policy.loops[i], budgets[i]);
    }
  }
  return holds ? kExitOk : kExitPromiseBroken;
}

// A budget with its inputs.
int print_budget(Fields fields, const FailoverBudget& budget) {
  fields.insert(fields.begin(), told("format", "bellwether.budget/1"));
  for (Field& sum : sums_of(budget)) fields.push_back(std::move(sum));
  return print_json(fields);
}

Result<int> budget_of_profile(const BudgetOptions& options, Duration operation, const election::Mechanism& mechanism) {
  BW_TRY(const lead::AgentProfile profile, profile_named(options.profile));
  const FailoverBudget budget = election::budget_of({.mechanism = mechanism,
                                                     .poll = profile.watchdog,
                                                     .lease = profile.lease,
                                                     .renew_every = profile.heartbeat,
                                                     .operation = operation});
  const election::BackoffSettings backoff;
  const Duration frozen = profile.stale_after + profile.watchdog;
  if (options.json) {
    return print_budget(
        {told("profile", profile.name), told("mechanism", mechanism.name), told("lease", budget_seconds(profile.lease)),
         told("heartbeat", budget_seconds(profile.heartbeat)), told("stale_after", budget_seconds(profile.stale_after)),
         told("watchdog", budget_seconds(profile.watchdog)), told("safety_margin", safety_margin(profile)),
         told("frozen_restarted_after", budget_seconds(frozen))},
        budget);
  }
  std::printf("%s on a %s: lease %s, heartbeat %s, stale after %s, watchdog %s, safety margin %.1f\n",
              options.profile.c_str(), std::string(mechanism.name).c_str(), format_duration(profile.lease).c_str(),
              format_duration(profile.heartbeat).c_str(), format_duration(profile.stale_after).c_str(),
              format_duration(profile.watchdog).c_str(), safety_margin(profile));
  print_sums(sums_of(budget));
  std::printf("  %-22s %-8s stale after + watchdog\n", "frozen, restarted", about(frozen).c_str());
  std::printf("  A second election within %s waits up to %s more, later ones up to %s.\n",
              format_duration(backoff.window).c_str(), format_duration(backoff_worst(backoff, 1)).c_str(),
              format_duration(backoff_worst(backoff, 2)).c_str());
  return kExitOk;
}

Result<int> budget_of_candidate(const BudgetOptions& options, Duration operation,
                                const election::Mechanism& mechanism) {
  const auto ttl = parse_duration(options.ttl);
  election::LeaseTiming timing = election::LeaseTiming::of(ttl.value_or(Duration::seconds(15)));
  const auto renew = options.renew.empty() ? Result<Duration>(timing.renew_every) : parse_duration(options.renew);
  const auto retry = options.retry.empty() ? Result<Duration>(timing.retry) : parse_duration(options.retry);
  for (const auto* wrong : {&ttl, &renew, &retry}) {
    if (!*wrong) return fail(Errc::kInvalid, wrong->error().message);
  }
  timing.renew_every = *renew;
  timing.retry = *retry;
  if (const auto unsafe = timing.validate(); !unsafe) {
    return refuse("budget", unsafe.error().message, kExitPromiseBroken);
  }
  for (const std::string& warning : timing.warnings()) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  const FailoverBudget budget = election::budget_of({.mechanism = mechanism,
                                                     .poll = timing.retry,
                                                     .lease = timing.lease,
                                                     .renew_every = timing.renew_every,
                                                     .operation = operation});
  if (options.json) {
    return print_budget(
        {told("mechanism", mechanism.name), told("lease", budget_seconds(timing.lease)),
         told("renew_every", budget_seconds(timing.renew_every)),
         told("renew_deadline", budget_seconds(timing.renew_deadline)), told("retry", budget_seconds(timing.retry))},
        budget);
  }
  std::printf("%s: TTL %s, renew every %s until %s, retry (poll) %s\n", std::string(mechanism.name).c_str(),
              format_duration(timing.lease).c_str(), format_duration(timing.renew_every).c_str(),
              format_duration(timing.renew_deadline).c_str(), format_duration(timing.retry).c_str());
  print_sums(sums_of(budget));
  return kExitOk;
}

Result<int> run_cluster_budget(BudgetOptions options, Duration operation) {
  if (store::is_group_url(options.via)) {
    const auto colon = options.via.find(':');
    options.elects = options.via.substr(0, colon);
    options.file = options.via.substr(colon + 1);
    options.via.clear();
  }
  if (!options.ttl.empty()) {
    const auto ttl = parse_duration(options.ttl);
    if (!ttl) return fail(Errc::kInvalid, "--ttl: " + ttl.error().message);
    options.lease = *ttl;
  }
  return budget_of_cluster(options, operation);
}

Result<int> run_budget(const BudgetOptions& options) {
  const auto operation = parse_duration(options.store_p99);
  if (!operation || *operation > Duration::hours(1)) {
    return fail(Errc::kInvalid, "--store-p99 '{}': write a duration such as 50ms, at most 1h", options.store_p99);
  }
  const bool in_group = store::is_group_url(options.via);
  if (in_group && (!options.policy.empty() || !options.file.empty())) {
    return fail(Errc::kInvalid,
                fmt::format("--via {} has the settings of a group: leave out the sheet, or --config", options.via));
  }
  if (in_group || (options.of_cluster && (options.via.empty() || options.via == cluster::kVote)))
    return run_cluster_budget(options, *operation);
  election::Mechanism mechanism = election::mechanism_of(options.profile.empty() ? "" : "file");
  if (!options.via.empty()) {
    const auto url = store::parse_store_url(options.via);
    if (!url) return fail(Errc::kInvalid, "--via: " + url.error().message);
    mechanism = election::mechanism_of(url->scheme);
  }
  if (options.of_cluster) return run_cluster_budget(options, *operation);
  if (!options.profile.empty() && !options.ttl.empty()) {
    return fail(Errc::kInvalid, "--profile and --ttl: a profile has a lease of its own");
  }
  if (!options.policy.empty()) return budget_of_policy(options, *operation);
  if (!options.profile.empty()) return budget_of_profile(options, *operation, mechanism);
  if (!options.ttl.empty()) return budget_of_candidate(options, *operation, mechanism);
  return fail(Errc::kInvalid, "give a policy sheet, --profile NAME, --via URL --ttl TIME, or --of-cluster");
}

// --- alerts ----------------------------------------------------------------------------------------------------------

struct AlertOptions {
  std::string file;
  std::string via;
  std::string store_p99 = "50ms";
  std::string scrape = "15s";
  std::string runbook_url;
};

Result<int> run_alerts(const AlertOptions& options) {
  lead::AlertSettings settings{.runbook_url = options.runbook_url};
  for (const auto& [name, text, into] : {std::tuple{"--store-p99", &options.store_p99, &settings.operation},
                                         {"--scrape", &options.scrape, &settings.scrape}}) {
    const auto span = parse_duration(*text);
    if (!span || *span <= Duration::zero() || *span > Duration::hours(1)) {
      return fail(Errc::kInvalid, "{} '{}': write a duration such as 15s, at most 1h", name, *text);
    }
    *into = *span;
  }
  if (options.runbook_url.find("{{") != std::string::npos) {
    return fail(Errc::kInvalid, "--runbook-url: Prometheus would take '{{' for a template");
  }
  BW_TRY(auto policy, load_policy(options.file));
  use_store(options.via, policy.loops);
  return print(prometheus_rules(policy, settings));
}

}  // namespace

std::string about(Duration span) {
  const Duration tenth = span < Duration::seconds(1) ? Duration::millis(10) : Duration::millis(100);
  const int64_t steps = (span + tenth - Duration::nanos(1)) / tenth;
  return fmt::format("{:g}s", seconds_of(tenth * steps));
}

Field sum_of(const char* title, const char* key, const election::Sum& sum) {
  return {title, key,
          object_of({told("seconds", budget_seconds(sum.total)), told("formula", sum.formula()),
                     told("arithmetic", sum.arithmetic())}),
          fmt::format("{:<8} {}\n{}= {}", about(sum.total), sum.formula(), std::string(34, ' '), sum.arithmetic())};
}

Fields sums_of(const FailoverBudget& budget) {
  return {sum_of("crash, worst", "crash/worst", budget.crash_worst),
          sum_of("crash, typical", "crash/typical", budget.crash_typical),
          budget.hang_worst ? sum_of("hang, worst", "hang/worst", *budget.hang_worst) : told("hang", nullptr),
          sum_of("release, worst", "release/worst", budget.release_worst),
          sum_of("release, typical", "release/typical", budget.release_typical)};
}

void print_sums(const Fields& sums) {
  for (const Field& sum : sums) {
    if (sum.for_people) std::printf("  %-22s %s\n", sum.heading.c_str(), sum.text.c_str());
  }
}

void add_budget(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<BudgetOptions>();
  CLI::App* command = new_verb(app, "budget");
  CLI::Option* file = command->add_option("POLICY", options->policy, "Policy sheet (YAML)");
  CLI::Option* profile =
      add_text(command, "--profile", options->profile, "NAME",
               "production, high-availability or lenient, for fleets of agents; with --of-cluster: lan, wan or local");
  add_text(command, "--via", options->via, "URL",
           "Store in place of those in the sheet; a group: vote:FILE or quorum:FILE; with --of-cluster also vote");
  CLI::Option* ttl = add_text(command, "--ttl", options->ttl, "TIME", "Length of the lease");
  add_text(command, "--renew", options->renew, "TIME", "Interval of renewals (default TTL / 3)")->needs(ttl);
  add_text(command, "--retry", options->retry, "TIME", "Interval of looks by candidates (default TTL x 2/15)")
      ->needs(ttl);
  add_text(command, "--store-p99", options->store_p99, "TIME", "p99 of one operation of the store (default 50ms)");
  command->add_flag("--json", options->json, "Print one JSON document in place of the table; times are in seconds");
  CLI::Option* cluster = command->add_flag("--of-cluster", options->of_cluster, "Compute for a cluster of nodes");
  add_text(command, "-c,--config", options->file, "FILE", "Settings of a node")->needs(cluster);
  command->add_option("--nodes", options->nodes, "Number of nodes (default: the voters, at least 5)")->needs(cluster);
  command->add_option("--voters", options->voters, "Number of voters (default: those in --config, or 5)")
      ->needs(cluster);
  add_duration(command, "--rtt", options->round_trip, "Round-trip time between voters (default 2ms; wan: 250ms)");
  add_duration(command, "--sync", options->sync, "p99 of a sync of a voter's disk (default 10ms)");
  for (const char* name : {"--rtt", "--sync"}) command->get_option(name)->needs(cluster);
  file->excludes(profile)->excludes(ttl)->excludes(cluster);
  command->footer(
      "Exit codes: 0 all promises can be kept, 1 a takeover_slo or stale_window cannot be kept (the arithmetic and "
      "sufficient values are printed), 104 wrong sheet or command line.");
  command->callback([options, &exit_code] { exit_code = answer("budget", run_budget(*options)); });
}

void add_alerts(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AlertOptions>();
  CLI::App* command = new_verb(app, "alerts");
  command->add_option("POLICY", options->file, "Policy sheet (YAML)")->required();
  add_text(command, "--via", options->via, "URL", "Store in place of those in the sheet");
  add_text(command, "--store-p99", options->store_p99, "TIME", "p99 of one operation of the store (default 50ms)");
  add_text(command, "--scrape", options->scrape, "TIME", "Scrape interval of Prometheus (default 15s)");
  add_text(command, "--runbook-url", options->runbook_url, "URL",
           "Page that each alert links to; the name of the alert is the fragment");
  command->footer("Exit codes: 0 printed, 104 wrong sheet or command line.");
  command->callback([options, &exit_code] { exit_code = answer("alerts", run_alerts(*options)); });
}

}  // namespace bellwether::cli
