// bellwether sim: runs the simulated worlds that ship with the product, or repeats one run of one of them.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "base/units.h"
#include "cli/commands.h"
#include "sim/leadership/leadership_world.h"

namespace bellwether::cli {
namespace {

constexpr std::string_view kPrefix = "leadership-";
constexpr int kViolated = 1;

struct SimOptions {
  std::string world;
  std::optional<uint64_t> seed;
  uint64_t from = 1;
  uint64_t seeds = 1000;
  std::string mistake = "none";
  bool list = false;
};

std::optional<sim::Mechanism> mechanism_of(std::string_view world) {
  if (!world.starts_with(kPrefix)) return std::nullopt;
  for (const sim::Mechanism one : sim::kMechanisms) {
    if (world.substr(kPrefix.size()) == to_string(one)) return one;
  }
  return std::nullopt;
}

std::optional<sim::LeadershipMistake> mistake_of(std::string_view name) {
  for (int i = 0; i < sim::kLeadershipMistakes; ++i) {
    const auto one = static_cast<sim::LeadershipMistake>(i);
    if (to_string(one) == name) return one;
  }
  return std::nullopt;
}

void list_worlds() {
  std::printf("Worlds (one key, several contenders, everything breaks):\n");
  for (const sim::Mechanism one : sim::kMechanisms) {
    std::printf("  %s%s\n", std::string(kPrefix).c_str(), std::string(to_string(one)).c_str());
  }
  std::printf("\nMistakes that can be put in (--mistake), each of which the worlds must find out:\n");
  for (int i = 1; i < sim::kLeadershipMistakes; ++i) {
    std::printf("  %s\n", std::string(to_string(static_cast<sim::LeadershipMistake>(i))).c_str());
  }
}

int run_one(sim::Mechanism mechanism, uint64_t seed, sim::LeadershipMistake mistake) {
  const sim::LeadershipRun run = live_leadership(mechanism, seed, mistake, true);
  std::fputs(run.trace.c_str(), stdout);
  std::printf("seed %llu: %u terms, %u events, %u late acts refused, fingerprint %016llx\n",
              static_cast<unsigned long long>(seed), run.terms, run.events, run.refused_acts,
              static_cast<unsigned long long>(run.fingerprint));
  std::printf("%s\n", run.violation.empty() ? "everything held" : ("VIOLATED: " + run.violation).c_str());
  return run.violation.empty() ? kExitOk : kViolated;
}

int run_many(sim::Mechanism mechanism, const SimOptions& options, sim::LeadershipMistake mistake) {
  uint64_t violated = 0;
  uint64_t terms = 0;
  uint64_t events = 0;
  uint64_t refused = 0;
  for (uint64_t seed = options.from; seed < options.from + options.seeds; ++seed) {
    const sim::LeadershipRun run = live_leadership(mechanism, seed, mistake);
    terms += run.terms;
    events += run.events;
    refused += run.refused_acts;
    if (run.violation.empty()) continue;
    if (++violated > 10) continue;
    std::printf("seed %llu: %s\n  bellwether sim --world %s --seed %llu%s\n", static_cast<unsigned long long>(seed),
                run.violation.c_str(), options.world.c_str(), static_cast<unsigned long long>(seed),
                mistake == sim::LeadershipMistake::kNone ? "" : (" --mistake " + options.mistake).c_str());
    std::fflush(stdout);
  }
  std::printf("%s: seeds %llu to %llu: %s terms, %s events, %s late acts refused, %s\n", options.world.c_str(),
              static_cast<unsigned long long>(options.from),
              static_cast<unsigned long long>(options.from + options.seeds - 1), format_count(terms).c_str(),
              format_count(events).c_str(), format_count(refused).c_str(),
              violated == 0 ? "everything held" : (format_count(violated) + " VIOLATED").c_str());
  return violated == 0 ? kExitOk : kViolated;
}

int run_sim(const SimOptions& options) {
  if (options.list || options.world.empty()) {
    list_worlds();
    return options.list ? kExitOk : kExitUsage;
  }
  const auto mechanism = mechanism_of(options.world);
  if (!mechanism) {
    std::fprintf(stderr, "bellwether: there is no world '%s'; `bellwether sim --list` names them\n",
                 options.world.c_str());
    return kExitUsage;
  }
  const auto mistake = mistake_of(options.mistake);
  if (!mistake) {
    std::fprintf(stderr, "bellwether: there is no mistake '%s'; `bellwether sim --list` names them\n",
                 options.mistake.c_str());
    return kExitUsage;
  }
  return options.seed ? run_one(*mechanism, *options.seed, *mistake) : run_many(*mechanism, options, *mistake);
}

}  // namespace

void add_sim(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("sim", "Break leadership in virtual time, a million times if you like");
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
      "  bellwether sim --world leadership-etcd --mistake counts-from-answer\n\n"
      "Exit codes: 0 everything held, 1 something was violated, 104 wrong command line.");
  command->callback([&exit_code] { exit_code = run_sim(options); });
}

}  // namespace bellwether::cli
