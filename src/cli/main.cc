// bellwether: the table of contents of the command line. Each command lives in a file of its own.

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "cli/commands.h"
#include "cli/slips.h"
#include "core/base/product.h"
#include "lead/run/guardian.h"

// NOLINTNEXTLINE(bugprone-exception-escape): a mistake in the declarations below may as well end here
int main(int argc, char** argv) {
  // The process that `bellwether lead` puts between itself and its command; not for people.
  if (bellwether::lead::GuardianCall::is_one(argc, argv)) {
    return bellwether::lead::guardian_main(bellwether::lead::GuardianCall::parse(argc, argv));
  }

  CLI::App app{"Bellwether: load tests whose figures can be trusted, and leaders that stop in time."};
  app.name("bellwether");
  app.footer(
      "Examples:\n"
      "  bellwether target --listen 127.0.0.1:18080        a server to try things on\n"
      "  bellwether run http://127.0.0.1:18080/json --vus 50 --duration 10s\n"
      "  bellwether check scenario.yaml                     is it right? sends nothing\n"
      "  bellwether run shop.cc                             a workflow in C++\n"
      "  bellwether run scenario.yaml --out json=result.json\n"
      "  bellwether ctl last pause                          control a run that goes on\n"
      "  bellwether lead --via redis://10.0.0.5 --key orders -- ./worker    only while leading\n\n"
      "Exit codes: 0 pass, 99 thresholds failed, 104 wrong scenario or command line, 105 ended by a signal,\n"
      "  108 aborted by a step, 110 every request failed, 121 schedule not achieved, 122 generator saturated,\n"
      "  123 no samples for a threshold. All of them: docs/formats/result.md. Those of other commands: their --help.");
  app.set_version_flag("--version", "bellwether " + std::string(bellwether::kProductVersion));
  app.require_subcommand(1);

  // A pipe whose reader went away must not end a run before its result file is written.
  std::signal(SIGPIPE, SIG_IGN);

  int exit_code = bellwether::cli::kExitOk;
  bellwether::cli::add_run(app, exit_code);
  bellwether::cli::add_ctl(app, exit_code);
  bellwether::cli::add_check(app, exit_code);
  bellwether::cli::add_build(app, exit_code);
  bellwether::cli::add_target(app, exit_code);
  bellwether::cli::add_report(app, exit_code);
  bellwether::cli::add_results(app, exit_code);
  bellwether::cli::add_job(app, exit_code);
  bellwether::cli::add_keys(app, exit_code);
  bellwether::cli::add_lead(app, exit_code);
  bellwether::cli::add_lease(app, exit_code);
  bellwether::cli::add_loops(app, exit_code);
  bellwether::cli::add_manager(app, exit_code);
  bellwether::cli::add_worker(app, exit_code);
  bellwether::cli::add_node(app, exit_code);
  bellwether::cli::add_cluster(app, exit_code);
  bellwether::cli::add_config(app, exit_code);
  bellwether::cli::add_context(app, exit_code);
  bellwether::cli::add_drill(app, exit_code);
  bellwether::cli::add_share(app, exit_code);
  bellwether::cli::add_sim(app, exit_code);
  bellwether::cli::add_budget(app, exit_code);
  bellwether::cli::add_alerts(app, exit_code);
  bellwether::cli::add_agents(app, exit_code);
  bellwether::cli::add_watch(app, exit_code);
  bellwether::cli::add_doctor(app, exit_code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help and version
    std::fputs(bellwether::cli::explain_slip(app, error, argc > 1 ? argv[1] : "").c_str(), stderr);
    return bellwether::cli::kExitUsage;
  }
  return exit_code;
}
