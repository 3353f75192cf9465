// bellwether: the table of contents of the command line. Each command lives in a separate file.

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <ranges>
#include <vector>

#include "cli/help.h"
#include "cli/verb.h"
#include "core/base/product.h"
#include "lead/run/guardian.h"

namespace bellwether::cli {
namespace {

// In the order of the help.
struct Verbs {
  const char* group;
  std::vector<void (*)(CLI::App&, int&)> add;
};
const Verbs kVerbs[] = {
    {"Load", {&add_run, &add_check, &add_import, &add_target, &add_build, &add_ctl, &add_report, &add_results}},
    {"Cluster", {&add_cluster, &add_job, &add_manager, &add_worker, &add_node, &add_config}},
    {"Lead", {&add_lead, &add_lease, &add_budget, &add_doctor, &add_drill, &add_loops, &add_alerts, &add_watch}},
    {"Advanced", {&add_agents, &add_context, &add_keys, &add_sim, &add_assignment}},
    {"Help", {&add_help}},
};

void add_groups(CLI::App& app, int& exit_code) {
  for (const Verbs& verbs : kVerbs) {
    const std::size_t before = app.get_subcommands({}).size();
    for (const auto add : verbs.add) add(app, exit_code);
    for (CLI::App* const verb : app.get_subcommands({}) | std::views::drop(before)) {
      const bool hidden = verb->get_group().empty();
      if (!hidden) verb->group(verbs.group);
    }
  }
}

}  // namespace
}  // namespace bellwether::cli

// NOLINTNEXTLINE(bugprone-exception-escape): a mistake in the declarations below ends the program
int main(int argc, char** argv) {
  // The process that `bellwether lead` puts between itself and its command; not for people.
  if (bellwether::lead::GuardianCall::is_one(argc, argv)) {
    return bellwether::lead::guardian_main(bellwether::lead::GuardianCall::parse(argc, argv));
  }

  CLI::App app{"Bellwether: load tests whose figures can be trusted, and leaders that stop in time."};
  app.name("bellwether");
  app.footer(
      "Begin with:\n"
      "  bellwether target --listen 127.0.0.1:18080        a server to try things on\n"
      "  bellwether run http://127.0.0.1:18080/json --vus 50 --duration 10s\n"
      "  bellwether lead --via flock: --key nightly -- ./report.sh      the command runs only while it leads\n\n"
      "Exit codes of a run: 0 passed, 1 sent no load, 99 a threshold failed, 104 wrong scenario or command line,\n"
      "  105 ended by a signal, 108 aborted by a step or a timeout, 110 every request failed, 120 load was lost,\n"
      "  121 schedule not achieved, 122 generator saturated, 123 no samples for a threshold, 124 a report was not\n"
      "  written. Other commands: their --help. Which code wins: the page \"Exit codes\" of the documentation.");
  bellwether::cli::use_help_format(app);
  app.set_version_flag("--version", "bellwether " + std::string(bellwether::kProductVersion));
  app.require_subcommand(1);

  // A pipe without a reader must not end a run before its result file is written.
  std::signal(SIGPIPE, SIG_IGN);

  int exit_code = bellwether::cli::kExitOk;
  bellwether::cli::add_groups(app, exit_code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help and version
    std::fputs(bellwether::cli::explain_usage_error(app, error).c_str(), stderr);
    return bellwether::cli::kExitUsage;
  }
  return exit_code;
}
