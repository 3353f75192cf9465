// bellwether sim: runs the simulated worlds that ship with the product, or repeats one run of one of them.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/verb.h"
#include "sim/cluster/cluster_world.h"
#include "sim/datacenter/datacenter_world.h"
#include "sim/leadership/leadership_world.h"
#include "sim/membership/membership_commands.h"
#include "sim/quorum/quorum_world.h"
#include "sim/quorum/register_world.h"
#include "sim/vote/vote_world.h"

namespace bellwether::cli {
namespace {

constexpr int kViolated = 1;

struct SimOptions {
  std::string world;
  std::optional<uint64_t> seed;
  uint64_t from = 1;
  uint64_t seeds = 1000;
  std::string mistake = "none";
  bool list = false;
};

// What every world tells of one run.
struct Lived {
  std::string violation;
  std::string trace;
  uint64_t fingerprint = 0;
  uint64_t terms = 0;   // or owners
  uint64_t events = 0;  // or seconds of load that count
  uint64_t refused_acts = 0;
};

struct World {
  std::string name;
  std::string_view what;
  Lived (*live)(uint64_t seed, int mistake, bool trace);
  int mistakes;
  std::string_view (*mistake)(int number);
};

template <sim::Mechanism kMechanism>
Lived live_store(uint64_t seed, int mistake, bool trace) {
  auto run = live_leadership(kMechanism, seed, static_cast<sim::LeadershipMistake>(mistake), trace);
  return {std::move(run.violation), std::move(run.trace), run.fingerprint, run.terms, run.events, run.refused_acts};
}

Lived live_group(uint64_t seed, int mistake, bool trace) {
  auto run = sim::live_quorum(seed, static_cast<sim::QuorumMistake>(mistake), trace);
  return {std::move(run.violation), std::move(run.trace), run.fingerprint, run.terms, run.events, run.refused_acts};
}

Lived live_votes(uint64_t seed, int mistake, bool trace) {
  auto run = sim::live_vote(seed, static_cast<sim::VoteMistake>(mistake), trace);
  return {std::move(run.violation), std::move(run.trace), run.fingerprint, run.terms, run.events, run.refused_acts};
}

Lived live_nodes(uint64_t seed, int mistake, bool trace) {
  auto run = sim::live_cluster(seed, static_cast<sim::ClusterMistake>(mistake), trace);
  return {std::move(run.violation), std::move(run.trace), run.fingerprint, run.terms, run.events, 0};
}

template <sim::DatacenterSize kSize>
Lived live_center(uint64_t seed, int mistake, bool trace) {
  auto run = sim::live_datacenter(seed, static_cast<sim::DatacenterMistake>(mistake), trace, kSize);
  return {std::move(run.violation), std::move(run.trace), run.fingerprint, run.owners, run.seconds, 0};
}

Lived live_job(uint64_t seed, int mistake, bool trace) {
  auto run = sim::live_register(seed, static_cast<sim::RegisterMistake>(mistake), trace);
  return {std::move(run.violation), std::move(run.trace), run.fingerprint, run.owners, run.events, 0};
}

template <class Mistake>
std::string_view name_of(int number) {
  return to_string(static_cast<Mistake>(number));
}

template <sim::Mechanism kMechanism>
World store_world() {
  return {"leadership-" + std::string(to_string(kMechanism)), "one key, several contenders", &live_store<kMechanism>,
          sim::kLeadershipMistakes, &name_of<sim::LeadershipMistake>};
}

std::vector<World> worlds() {
  return {
      store_world<sim::Mechanism::kHostLock>(),
      store_world<sim::Mechanism::kLeaseFile>(),
      store_world<sim::Mechanism::kRedis>(),
      store_world<sim::Mechanism::kEtcd>(),
      store_world<sim::Mechanism::kKubernetes>(),
      store_world<sim::Mechanism::kPostgres>(),
      {"cluster", "whole nodes, with their links and disks", &live_nodes, sim::kClusterMistakes,
       &name_of<sim::ClusterMistake>},
      {"datacenter", "managers, workers and a client, with jobs", &live_center<sim::DatacenterSize::kAny>,
       sim::kDatacenterMistakes, &name_of<sim::DatacenterMistake>},
      {"datacenter-large", "the same, with 41 to 200 workers", &live_center<sim::DatacenterSize::kLarge>,
       sim::kDatacenterMistakes, &name_of<sim::DatacenterMistake>},
      {"quorum", "a group that elects its leader", &live_group, sim::kQuorumMistakes, &name_of<sim::QuorumMistake>},
      {"register", "the register of a job", &live_job, sim::kRegisterMistakes, &name_of<sim::RegisterMistake>},
      {"vote", "a group that elects its admin by scores", &live_votes, sim::kVoteMistakes, &name_of<sim::VoteMistake>}};
}

std::optional<int> mistake_of(const World& world, std::string_view name) {
  for (int number = 0; number < world.mistakes; ++number) {
    if (world.mistake(number) == name) return number;
  }
  return std::nullopt;
}

void list_worlds() {
  std::printf("Worlds, in which everything breaks:\n");
  for (const World& world : worlds()) {
    std::printf("  %-24s %s\n", world.name.c_str(), std::string(world.what).c_str());
  }
  std::fputs(("\n" + sim::membership_worlds()).c_str(), stdout);
  std::printf("\nMistakes that can be put in (--mistake), each of which the worlds must find out:\n");
  std::string_view (*told)(int number) = nullptr;
  for (const World& world : worlds()) {
    if (world.mistake == told) continue;
    told = world.mistake;
    std::printf(" %s:\n", world.name.starts_with("leadership-") ? "leadership-*" : world.name.c_str());
    for (int number = 1; number < world.mistakes; ++number) {
      std::printf("  %s\n", std::string(world.mistake(number)).c_str());
    }
  }
}

int run_one(const World& world, uint64_t seed, int mistake) {
  const Lived run = world.live(seed, mistake, true);
  std::fputs(run.trace.c_str(), stdout);
  std::printf("seed %llu: %s terms, %s events, %s late acts refused, fingerprint %016llx\n",
              static_cast<unsigned long long>(seed), format_count(run.terms).c_str(), format_count(run.events).c_str(),
              format_count(run.refused_acts).c_str(), static_cast<unsigned long long>(run.fingerprint));
  std::printf("%s\n", run.violation.empty() ? "everything held" : ("VIOLATED: " + run.violation).c_str());
  return run.violation.empty() ? kExitOk : kViolated;
}

int run_many(const World& world, const SimOptions& options, int mistake) {
  uint64_t violated = 0;
  uint64_t terms = 0;
  uint64_t events = 0;
  uint64_t refused = 0;
  for (uint64_t seed = options.from; seed < options.from + options.seeds; ++seed) {
    const Lived run = world.live(seed, mistake, false);
    terms += run.terms;
    events += run.events;
    refused += run.refused_acts;
    if (run.violation.empty()) continue;
    if (++violated > 10) continue;
    std::printf("seed %llu: %s\n  bellwether sim --world %s --seed %llu%s\n", static_cast<unsigned long long>(seed),
                run.violation.c_str(), options.world.c_str(), static_cast<unsigned long long>(seed),
                mistake == 0 ? "" : (" --mistake " + options.mistake).c_str());
    std::fflush(stdout);
  }
  std::printf("%s: seeds %llu to %llu: %s terms, %s events, %s late acts refused, %s\n", options.world.c_str(),
              static_cast<unsigned long long>(options.from),
              static_cast<unsigned long long>(options.from + options.seeds - 1), format_count(terms).c_str(),
              format_count(events).c_str(), format_count(refused).c_str(),
              violated == 0 ? "everything held" : (format_count(violated) + " VIOLATED").c_str());
  return violated == 0 ? kExitOk : kViolated;
}

int run_members(const SimOptions& options) {
  const sim::MembershipReport report =
      sim::run_membership({options.world, options.seed, options.from, options.seeds, options.mistake});
  std::fputs(report.text.c_str(), report.known ? stdout : stderr);
  return !report.known ? kExitUsage : report.held ? kExitOk : kViolated;
}

int run_sim(const SimOptions& options) {
  if (sim::is_membership_world(options.world)) return run_members(options);
  if (options.list || options.world.empty()) {
    list_worlds();
    return options.list ? kExitOk : kExitUsage;
  }
  const std::vector<World> all = worlds();
  const auto world = std::find_if(all.begin(), all.end(), [&](const World& one) { return one.name == options.world; });
  if (world == all.end()) {
    std::fprintf(stderr, "bellwether: there is no world '%s'; `bellwether sim --list` names them\n",
                 options.world.c_str());
    return kExitUsage;
  }
  const auto mistake = mistake_of(*world, options.mistake);
  if (!mistake) {
    std::fprintf(stderr, "bellwether: there is no mistake '%s' in that world; `bellwether sim --list` names them\n",
                 options.mistake.c_str());
    return kExitUsage;
  }
  return options.seed ? run_one(*world, *options.seed, *mistake) : run_many(*world, options, *mistake);
}

}  // namespace

void add_sim(CLI::App& app, int& exit_code) {
  auto* command = new_verb(app, "sim", "Break leadership in virtual time, a million times if you like");
  static SimOptions options;
  command->add_option("--world", options.world, "Which world (see --list)")->type_name("NAME");
  command->add_option("--seed", options.seed, "Repeat one run and tell what happened in it");
  command->add_option("--seeds", options.seeds, "Run so many seeds (default 1000)")->check(CLI::PositiveNumber);
  command->add_option("--from", options.from, "The first of them (default 1)");
  command->add_option("--mistake", options.mistake, "Put a well-known mistake in, to see it found out")
      ->type_name("NAME");
  command->add_flag("--list", options.list, "Name the worlds and the mistakes");
  command->footer(
      "Examples:\n"
      "  bellwether sim --world leadership-redis --seeds 100000\n"
      "  bellwether sim --world leadership-redis --seed 4711\n"
      "  bellwether sim --world leadership-etcd --mistake counts-from-answer\n"
      "  bellwether sim --world quorum --seeds 10000\n"
      "  bellwether sim --world membership-grid\n\n"
      "Exit codes: 0 everything held, 1 something was violated, 104 wrong command line.");
  command->callback([&exit_code] { exit_code = run_sim(options); });
}

}  // namespace bellwether::cli
