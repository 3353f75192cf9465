// bellwether sim: runs the simulated worlds that ship with the product, or repeats one run of one of them.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/verb.h"
#include "sim/cluster/cluster_world.h"
#include "sim/datacenter/datacenter_world.h"
#include "sim/leadership/leadership_world.h"
#include "sim/membership/membership_world.h"
#include "sim/quorum/quorum_world.h"
#include "sim/quorum/register_world.h"
#include "sim/vote/vote_world.h"

namespace bellwether::cli {
namespace {

int code_of(sim::SimOutcome outcome) {
  switch (outcome) {
    case sim::SimOutcome::kHeld: return kExitOk;
    case sim::SimOutcome::kViolated: return 1;
    case sim::SimOutcome::kNotFound: return 2;
  }
  return kExitUsage;
}

int run_sim(const sim::SimRequest& request, bool list) {
  std::vector<sim::WorldRow> worlds(sim::leadership_worlds().begin(), sim::leadership_worlds().end());
  for (const sim::WorldRow& world :
       {sim::quorum_world(), sim::vote_world(), sim::register_world(), sim::membership_world(), sim::cluster_world()}) {
    worlds.push_back(world);
  }
  worlds.insert(worlds.end(), sim::datacenter_worlds().begin(), sim::datacenter_worlds().end());
  const sim::SimReport report(worlds, sim::membership_measurements(), [](const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  });
  if (list || request.world.empty()) {
    report.list();
    return list ? kExitOk : kExitUsage;
  }
  const auto outcome = report.run(request);
  if (outcome) return code_of(*outcome);
  std::fprintf(stderr, "bellwether: %s\n", outcome.error().message.c_str());
  return kExitUsage;
}

}  // namespace

void add_sim(CLI::App& app, int& exit_code) {
  auto* command = new_verb(app, "sim", "Break leadership in virtual time, a million times if you like");
  static sim::SimRequest request;
  static bool list = false;
  command->add_option("--world", request.world, "Which world (see --list)")->type_name("NAME");
  command->add_option("--seed", request.seed, "Repeat one run and tell what happened in it");
  command->add_option("--seeds", request.seeds, "Run so many seeds (default 1000)")->check(CLI::PositiveNumber);
  command->add_option("--from", request.from, "The first of them (default 1)");
  command->add_option("--mistake", request.mistake, "Put a well-known mistake in, to see it found out")
      ->type_name("NAME");
  command->add_flag("--list", list, "Name the worlds and the mistakes");
  command->footer(
      "Examples:\n"
      "  bellwether sim --world leadership-redis --seeds 100000\n"
      "  bellwether sim --world leadership-redis --seed 4711\n"
      "  bellwether sim --world leadership-redis --mistake counts-from-answer\n"
      "  bellwether sim --world quorum --seeds 10000\n"
      "  bellwether sim --world membership-grid\n\n"
      "Exit codes: 0 everything held, 1 something was violated (also by a mistake that was put in: it is found),\n"
      "2 a mistake was put in and not found, 104 wrong command line.");
  command->callback([&exit_code] { exit_code = run_sim(request, list); });
}

}  // namespace bellwether::cli
